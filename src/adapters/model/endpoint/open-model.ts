import { costOf } from '../../../domain/model/price-book.ts';
import { modelSeconds, modelTokens, modelUsd } from '../../../telemetry/metrics.ts';
import { annotate, traced } from '../../../telemetry/tracing.ts';
import { type LostAnswer, type Model, type ModelAnswer, ModelError, type ModelRequest } from '../model.ts';
import { startPracticeServer } from '../practice/server.ts';
import { timesWithin } from '../request/silence.ts';
import { customModelName } from './client.ts';
import { endpointOf, type ModelSettings, PRACTICE } from './endpoint.ts';
import type { FactsStore } from './facts.ts';
import { openaiModel } from './openai.ts';

const defaultNames = { openai: 'gpt-5-mini', openrouter: 'openai/gpt-5-mini' } as const;

/**
 * Opens the configured endpoint without asking it anything: a wrong key or a dead endpoint shows at the first
 * `complete`. When nothing is configured, a practice server starts on loopback in this process and lives until `close`.
 * `facts`: where it keeps what it learns; unset: in this process.
 */
export async function openModel(settings: ModelSettings, facts?: FactsStore): Promise<Model> {
  const endpoint = endpointOf(settings);
  if (!endpoint) {
    const practice = await startPracticeServer();
    const model = openaiModel({ kind: 'practice', baseUrl: practice.baseUrl, name: PRACTICE });
    return { ...model, close: () => practice.close() };
  }
  const chosen = settings.AGENT_MODEL === PRACTICE ? undefined : settings.AGENT_MODEL;
  const name = chosen ?? (endpoint.kind === 'custom' ? await customModelName(endpoint) : defaultNames[endpoint.kind]);
  const silence = settings.FETCH_MODEL_SILENCE_SECONDS;
  return openaiModel({
    ...endpoint,
    name,
    fallback: settings.FETCH_FALLBACK_MODEL,
    price: settings.FETCH_MODEL_PRICE,
    facts,
    ...(silence !== undefined && { times: timesWithin(silence * 1_000) }),
  });
}

/** How soon a changed setting of the model is seen. */
const LOOK_MS = 1_000;

/** The model of the settings as they are now. */
interface CurrentModel {
  readonly model: Model;
  close(): Promise<void>;
}

/**
 * Opens the model, and another one when a setting of it has changed. A step under way ends with the model that it began
 * with.
 */
export async function followModel(settings: ModelSettings, facts?: FactsStore): Promise<CurrentModel> {
  const used: Model[] = [];
  let opened = keyOf(settings);
  let model = await opens();
  let opening: Promise<void> | null = null;
  const timer = setInterval(() => {
    if (keyOf(settings) !== opened) opening ??= renew().finally(() => (opening = null));
  }, LOOK_MS).unref();
  return {
    get model() {
      return model;
    },
    async close() {
      clearInterval(timer);
      await opening;
      await Promise.all(used.map((each) => each.close()));
    },
  };

  async function opens(): Promise<Model> {
    const next = measured(await openModel(settings, facts));
    used.push(next);
    return next;
  }
  async function renew(): Promise<void> {
    const key = keyOf(settings);
    // an endpoint that cannot be opened is tried again
    const next = await opens().catch(() => null);
    if (next) [model, opened] = [next, key];
  }
}

/** Equal while the same model would be opened. */
const keyOf = ({
  OPENAI_BASE_URL,
  OPENAI_API_KEY,
  OPENROUTER_API_KEY,
  AGENT_MODEL,
  FETCH_FALLBACK_MODEL,
  FETCH_MODEL_PRICE,
  FETCH_MODEL_SILENCE_SECONDS,
}: ModelSettings): string =>
  JSON.stringify([
    OPENAI_BASE_URL,
    OPENAI_API_KEY,
    OPENROUTER_API_KEY,
    AGENT_MODEL,
    FETCH_FALLBACK_MODEL,
    FETCH_MODEL_PRICE,
    FETCH_MODEL_SILENCE_SECONDS,
  ]);

/** A model whose requests are counted, and traced: how long, how many tokens, what they cost. */
const measured = (model: Model): Model => ({
  ...model,
  complete: (request) => {
    const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': request.model };
    const onLost = (lost: LostAnswer) => {
      countUsage(model, request, lost);
      request.onLost?.(lost);
    };
    return traced('chat', { kind: 'client', attributes }, () => complete(model, { ...request, onLost }));
  },
});

async function complete(model: Model, request: ModelRequest): Promise<ModelAnswer> {
  const begun = performance.now();
  const took = (outcome: string) => modelSeconds.observe({ outcome }, (performance.now() - begun) / 1000);
  try {
    const answer = await model.complete(request);
    took('ok');
    countUsage(model, request, answer);
    return answer;
  } catch (error) {
    took(error instanceof ModelError ? error.type : 'cancelled');
    throw error;
  }
}

function countUsage(model: Model, request: ModelRequest, answer: LostAnswer): void {
  const { inputTokens, cachedTokens, outputTokens } = answer.usage;
  modelTokens.add({ kind: 'input' }, inputTokens);
  modelTokens.add({ kind: 'cached' }, cachedTokens);
  modelTokens.add({ kind: 'output' }, outputTokens);
  modelUsd.add({}, costOf([answer.model, request.model ?? model.name], answer.usage, model.prices).microUsd / 1e6);
  annotate({
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedTokens,
    'gen_ai.usage.output_tokens': outputTokens,
  });
}
