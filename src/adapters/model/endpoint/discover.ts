import type { Config } from '../../../config.ts';
import { priceText } from '../../../domain/model/price-book.ts';
import { ModelError } from '../error.ts';
import { listModels } from './client.ts';
import { endpointOf, type ModelSettings, PRACTICE } from './endpoint.ts';
import { openModel } from './open-model.ts';

/** A model that setup can offer: what to show, and the settings that choose it (`env` may hold a key: never log it). */
export interface Choice {
  label: string;
  env: Record<string, string>;
  kind: 'openai' | 'openrouter' | 'custom' | 'local';
}

const LOCAL = [
  { product: 'Ollama', port: 11434 },
  { product: 'llama.cpp', port: 8080 },
  { product: 'LM Studio', port: 1234 },
  { product: 'vLLM', port: 8000 },
];

export type DiscoverOptions = {
  /** servers to look for on 127.0.0.1 */
  local?: ReadonlyArray<{ product: string; port: number }>;
  timeoutMs?: number;
};

/** Names of the models that the endpoint of these settings lists. @throws ModelError with a reason for a person */
export async function modelsOf(env: Record<string, string>, timeoutMs = 15_000): Promise<string[]> {
  const endpoint = endpointOf(env as unknown as ModelSettings);
  return endpoint ? await listModels(endpoint, timeoutMs) : [];
}

/** Configured keys, then local servers that answer in time with at least one model. Sends nothing to a remote host. */
export async function discoverModels(config: ModelSettings & Partial<Config>, options: DiscoverOptions = {}): Promise<Choice[]> {
  const found: Choice[] = [];
  const name = config.AGENT_MODEL === PRACTICE ? undefined : config.AGENT_MODEL;
  const named: Record<string, string> = name ? { AGENT_MODEL: name } : {};
  const model = name ? `, ${name}` : '';
  if (config.OPENAI_BASE_URL) {
    const key: Record<string, string> = config.OPENAI_API_KEY ? { OPENAI_API_KEY: config.OPENAI_API_KEY } : {};
    found.push({
      kind: 'custom',
      label: `${new URL(config.OPENAI_BASE_URL).host}${model} (OPENAI_BASE_URL)`,
      env: { OPENAI_BASE_URL: config.OPENAI_BASE_URL, ...key, ...named },
    });
  } else if (config.OPENAI_API_KEY) {
    found.push({ kind: 'openai', label: `OpenAI${model} (OPENAI_API_KEY)`, env: { OPENAI_API_KEY: config.OPENAI_API_KEY, ...named } });
  }
  if (config.OPENROUTER_API_KEY) {
    // a name chosen for the other endpoint means nothing here
    const own: Record<string, string> = found.length === 0 ? named : {};
    found.push({
      kind: 'openrouter',
      label: `OpenRouter${found.length === 0 ? model : ''} (OPENROUTER_API_KEY)`,
      env: { OPENROUTER_API_KEY: config.OPENROUTER_API_KEY, ...own },
    });
  }
  const local = await Promise.all(
    (options.local ?? LOCAL).map(async ({ product, port }): Promise<Choice[]> => {
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      if (config.OPENAI_BASE_URL?.replace(/(?<!\/)\/+$/, '') === baseUrl) return [];
      const first = (await listModels({ baseUrl }, options.timeoutMs ?? 400).catch(() => []))[0];
      return first ? [{ kind: 'local', label: `${product} on this machine, ${first}`, env: { OPENAI_BASE_URL: baseUrl, AGENT_MODEL: first } }] : [];
    }),
  );
  return [...found, ...local.flat()];
}

export interface Verified {
  ok: true;
  model: string;
  /** what is known of its price, for a person */
  price: string;
}

/** Asks the chosen model for one short answer, streamed as in a turn. Costs a few tokens. `error` is written for a person and holds no key. */
export async function verifyModel(env: Record<string, string>, timeoutMs = 60_000): Promise<Verified | { ok: false; error: string }> {
  const model = await openModel(env as unknown as ModelSettings);
  try {
    // room for a model that thinks before it answers
    const answer = await model.complete({
      model: model.name,
      messages: [{ role: 'user', content: 'Reply with the single word: ready' }],
      tools: [],
      signal: AbortSignal.timeout(timeoutMs),
      onDelta: () => {},
      maxTokens: 512,
      requestId: 'verify',
    });
    return { ok: true, model: answer.model, price: priceText([answer.model, model.name], model.prices) };
  } catch (error) {
    if (error instanceof ModelError) {
      const rootUrl = error.status === 404 && new URL(model.baseUrl).pathname.length <= 1;
      return { ok: false, error: rootUrl ? `${error.message}. The base URL usually ends with /v1.` : error.message };
    }
    return { ok: false, error: `no answer within ${Math.round(timeoutMs / 1000)} s` };
  } finally {
    await model.close();
  }
}
