import Library, { type APIError } from 'openai';
import { MINUTE } from '../../../domain/time.ts';
import type { Endpoint } from '../model.ts';
import { classify, errorObject } from '../request/classify.ts';
import { leanFetch } from '../request/transport.ts';
import { documentedFacts } from './facts.ts';

type Address = Pick<Endpoint, 'baseUrl' | 'apiKey'>;

/**
 * The library drops the body of a refusal that is not an object with an `error`. The name of the class is sent as the
 * user agent.
 */
class OpenAI extends Library {
  protected override makeStatusError(
    status: number,
    body: object,
    text: string | undefined,
    headers: Headers,
  ): APIError {
    const error = errorObject(body ?? text);
    return super.makeStatusError(status, error ? { error } : body, text, headers);
  }
}

export function openaiClient(endpoint: Address): Library {
  return new OpenAI({
    baseURL: endpoint.baseUrl,
    apiKey: endpoint.apiKey ?? 'none',
    // sets everything that the SDK would read from the environment, so that config.ts stays its only reader
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    fetch: leanFetch,
    maxRetries: 0,
    timeout: 30 * MINUTE,
    defaultHeaders: endpoint.apiKey ? {} : { Authorization: null },
  });
}

/** The model name when none was configured: the first model that the endpoint lists, or `default`. */
export async function customModelName(endpoint: Endpoint, timeoutMs = 3_000): Promise<string> {
  return (await listModels(endpoint, timeoutMs).catch(() => []))[0] ?? 'default';
}

/** Names of the models that an endpoint lists. Throws `ModelError`. */
export const listModels = async (endpoint: Address, timeoutMs: number): Promise<string[]> =>
  (await listedModels(endpoint, timeoutMs)).map(({ id }) => id);

/** The models that an endpoint lists, as it describes them. Throws `ModelError`. */
export async function listedModels(endpoint: Address, timeoutMs: number): Promise<Array<{ id: string }>> {
  try {
    const page = await listingClient(endpoint).models.list({ signal: AbortSignal.timeout(timeoutMs) });
    // embedding models cannot chat, and Ollama lists them among the others
    return (page.data ?? []).filter(({ id }) => typeof id === 'string' && !/embed|rerank|whisper|\btts\b/i.test(id));
  } catch (error) {
    throw classify(error, { secrets: endpoint.apiKey ? [endpoint.apiKey] : [] });
  }
}

/**
 * A client for the list of models, which Anthropic and Gemini give in OpenAI's form, too: Anthropic for its own key
 * header, Gemini under a path of its own. Sources: https://docs.anthropic.com/en/api/models-list,
 * https://ai.google.dev/gemini-api/docs/openai
 */
function listingClient({ baseUrl, apiKey }: Address): Library {
  const vendor = documentedFacts(baseUrl, '').wire;
  if (vendor === 'gemini') return openaiClient({ baseUrl: `${baseUrl.replace(/\/openai$/, '')}/openai`, apiKey });
  const client = openaiClient({ baseUrl, apiKey });
  if (vendor !== 'anthropic') return client;
  return client.withOptions({
    defaultHeaders: { Authorization: null, 'x-api-key': apiKey ?? null, 'anthropic-version': '2023-06-01' },
    defaultQuery: { limit: '1000' },
  });
}
