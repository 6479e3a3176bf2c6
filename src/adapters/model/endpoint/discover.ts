import type { Config } from '../../../config.ts';
import type { ModelFacts, WireName } from '../../../contracts/model.ts';
import { priceText } from '../../../domain/model/price-book.ts';
import { ModelError, type ModelMessage, type ModelTool } from '../model.ts';
import { listModels } from './client.ts';
import { endpointOf, type ModelSettings, PRACTICE } from './endpoint.ts';
import type { FactsStore } from './facts.ts';
import { openModel } from './open-model.ts';

/** A model that setup can offer: what to show, and the settings that choose it (`env` may hold a key: never log it). */
interface Choice {
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

type DiscoverOptions = {
  /** servers to look for on 127.0.0.1 */
  local?: ReadonlyArray<{ product: string; port: number }>;
  timeoutMs?: number;
};

/** Why nothing answers, for somebody who has just put in an address or a key. Other reasons stay as they are. */
function reasonOf(error: ModelError): string {
  const [, host] = /(?:ENOTFOUND|EAI_AGAIN) (\S+)$/.exec(error.message) ?? [];
  if (host) return `The name ${host} is not known here. Usually there is no network, or the address is mistyped.`;
  const [, at] = /ECONNREFUSED (\S+)$/.exec(error.message) ?? [];
  if (at) return `Nothing answers at ${at}. The server may not be running.`;
  return error.message.replace(/^Authentication failed: /, 'The key was refused. The service says: ');
}

/** Names of the models that the endpoint of these settings lists. @throws ModelError with a reason for a person */
export async function modelsOf(env: Record<string, string>, timeoutMs = 15_000): Promise<string[]> {
  const endpoint = endpointOf(env as unknown as ModelSettings);
  if (!endpoint) return [];
  return await listModels(endpoint, timeoutMs).catch((error: unknown) => {
    throw error instanceof ModelError ? new ModelError(error.type, reasonOf(error)) : error;
  });
}

/** Configured keys, then local servers that answer in time with at least one model. Sends nothing to a remote host. */
export async function discoverModels(
  config: ModelSettings & Partial<Config>,
  options: DiscoverOptions = {},
): Promise<Choice[]> {
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
    found.push({
      kind: 'openai',
      label: `OpenAI${model} (OPENAI_API_KEY)`,
      env: { OPENAI_API_KEY: config.OPENAI_API_KEY, ...named },
    });
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
      return first
        ? [
            {
              kind: 'local',
              label: `${product} on this machine, ${first}`,
              env: { OPENAI_BASE_URL: baseUrl, AGENT_MODEL: first },
            },
          ]
        : [];
    }),
  );
  return [...found, ...local.flat()];
}

interface Verified {
  ok: true;
  model: string;
  /** what is known of its price, for a person */
  price: string;
  /** what was learned of the model, for a person; may be empty */
  learned: string;
}

const WORD: ModelTool = {
  name: 'get_word',
  description: 'Gives a word.',
  parameters: { type: 'object', properties: {} },
};
const QUESTION: ModelMessage[] = [
  { role: 'system', content: 'This is a test of the connection. Answer as shortly as you can.' },
  { role: 'user', content: 'Call the tool get_word, and then reply with the word that it gives.' },
];
/** Room for a model that thinks before it answers. */
const ROOM = 1024;

const WIRES: Record<WireName, string | undefined> = {
  chat: undefined,
  responses: 'asked over the Responses API',
  anthropic: "asked in Anthropic's own protocol",
  gemini: "asked in Gemini's own protocol",
};

/** What was learned of a model, in plain words for a person; empty when nothing was that matters to one. */
function factsText(facts: ModelFacts): string {
  const words = [
    facts.wire && WIRES[facts.wire],
    facts.effort && facts.wire !== 'responses' && 'no thoughts beside tools',
    facts.efforts && `effort ${facts.efforts.join(', ')}`,
    facts.omit?.includes('reasoning_effort') && 'no choice of effort',
    facts.noTools && 'no tools',
    facts.noPictures && 'no pictures',
    facts.noSystem && 'no system message',
    facts.alternates && 'messages must alternate',
    facts.singleCalls && 'one call at a time',
    facts.reasoningBack && 'wants its thoughts back',
    facts.omit?.includes('stream_options') && 'no count of tokens',
    facts.contextTokens && `${facts.contextTokens.toLocaleString('en-US')} tokens of context`,
    facts.maxTools && `at most ${facts.maxTools} tools`,
  ].filter((word) => typeof word === 'string');
  return words.length > 0 ? `learned of this model: ${words.join('; ')}` : '';
}

/**
 * Asks the chosen model as a turn does, streamed: with a tool, and once more with the tool's result. Costs a few
 * tokens. `error` is written for a person and holds no key. `facts`: where it keeps what it learns of the model.
 */
export async function verifyModel(
  env: Record<string, string>,
  timeoutMs = 60_000,
  facts?: FactsStore,
): Promise<Verified | { ok: false; error: string }> {
  const model = await openModel(env as unknown as ModelSettings, facts);
  const signal = AbortSignal.timeout(timeoutMs);
  const ask = (messages: ModelMessage[]) =>
    model.complete({
      model: model.name,
      messages,
      tools: [WORD],
      signal,
      onDelta: () => {},
      maxTokens: ROOM,
      requestId: 'verify',
    });
  try {
    const { text, calls, state } = await ask(QUESTION);
    // a model that calls nothing is asked for its second step all the same, because only that shows what the endpoint
    // refuses
    const made = calls.length > 0 ? calls : [{ id: 'call_1', name: WORD.name, arguments: '{}' }];
    const step: ModelMessage = {
      role: 'assistant',
      content: text,
      calls: made,
      ...(calls.length > 0 && state && { state }),
    };
    const answer = await ask([
      ...QUESTION,
      step,
      ...made.map(({ id }): ModelMessage => ({ role: 'tool', callId: id, content: 'ready' })),
    ]);
    const learned = factsText(await model.facts(model.name));
    return { ok: true, model: answer.model, price: priceText([answer.model, model.name], model.prices), learned };
  } catch (error) {
    if (error instanceof ModelError) {
      const rootUrl = error.status === 404 && new URL(model.baseUrl).pathname.length <= 1;
      return { ok: false, error: rootUrl ? `${error.message}. The base URL usually ends with /v1.` : reasonOf(error) };
    }
    return { ok: false, error: `no answer within ${Math.round(timeoutMs / 1000)} s` };
  } finally {
    await model.close();
  }
}
