import type { Config } from '../../config.ts';
import { customModelName, openaiModel } from './openai.ts';
import { startPracticeServer } from './practice-server.ts';

export { ModelError } from './error.ts';

export interface ModelCall {
  /** the provider's id; unique within one answer, nothing more */
  id: string;
  name: string;
  /** JSON as the model wrote it: not validated, possibly malformed */
  arguments: string;
}

export type ModelMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; calls?: ModelCall[] }
  | { role: 'tool'; callId: string; content: string };

export interface ModelTool {
  name: string;
  description: string;
  /** JSON schema of the arguments */
  parameters: object;
}

export interface ModelRequest {
  model: string;
  messages: ModelMessage[];
  /** empty: the model may call nothing */
  tools: ModelTool[];
  /** `complete` rejects with the signal's own reason when it aborts */
  signal: AbortSignal;
  /** text as it streams in; what the answer holds in the end is authoritative */
  onDelta(kind: 'agent_message' | 'agent_reasoning', text: string): void;
  /** tokens that the answer may have; the endpoint's default when unset */
  maxTokens?: number;
  /** the same on every attempt of one step; sent as `x-fetch-request-id` (what follows a `#` may differ between attempts) */
  requestId: string;
}

export interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  /** part of `inputTokens` that the endpoint had cached */
  cachedTokens: number;
  /** part of `outputTokens` that was reasoning */
  reasoningTokens: number;
}

export interface ModelAnswer {
  text: string;
  reasoning: string;
  calls: ModelCall[];
  usage: ModelUsage;
  /** the endpoint told no usage: tokens are counted from the characters */
  usageEstimated: boolean;
  finishReason: string;
  /** as the endpoint names it */
  model: string;
}

export type ModelKind = 'practice' | 'openai' | 'openrouter' | 'custom';

export interface Model {
  /** the model that a request names unless something else was chosen */
  readonly name: string;
  /** a second model of the same endpoint */
  readonly fallback?: string;
  readonly baseUrl: string;
  readonly kind: ModelKind;
  /** one answer, streamed; throws `ModelError`, or the reason of the aborted signal. Never retries. */
  complete(request: ModelRequest): Promise<ModelAnswer>;
  close(): Promise<void>;
}

export type ModelSettings = Pick<Config, 'OPENAI_BASE_URL' | 'OPENAI_API_KEY' | 'OPENROUTER_API_KEY' | 'AGENT_MODEL' | 'FETCH_FALLBACK_MODEL'>;

export interface Endpoint {
  kind: Exclude<ModelKind, 'practice'>;
  baseUrl: string;
  apiKey?: string;
}

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENROUTER_URL = 'https://openrouter.ai/api/v1';

/** What the settings point at; null: nothing is configured, so practice. */
export function endpointOf(settings: ModelSettings): Endpoint | null {
  // said outright: a key that lies in the environment for other programs does not decide then
  if (settings.AGENT_MODEL === 'practice') return null;
  if (settings.OPENAI_BASE_URL) {
    const { hostname } = new URL(settings.OPENAI_BASE_URL);
    const openrouter = hostname === 'openrouter.ai';
    const kind = openrouter ? 'openrouter' : hostname === 'api.openai.com' ? 'openai' : 'custom';
    // an OpenRouter key is never sent to another host
    const apiKey = settings.OPENAI_API_KEY ?? (openrouter ? settings.OPENROUTER_API_KEY : undefined);
    return { kind, baseUrl: settings.OPENAI_BASE_URL.replace(/\/+$/, ''), apiKey };
  }
  if (settings.OPENAI_API_KEY) return { kind: 'openai', baseUrl: OPENAI_URL, apiKey: settings.OPENAI_API_KEY };
  if (settings.OPENROUTER_API_KEY) return { kind: 'openrouter', baseUrl: OPENROUTER_URL, apiKey: settings.OPENROUTER_API_KEY };
  return null;
}

const defaultNames = { openai: 'gpt-5-mini', openrouter: 'openai/gpt-5-mini' } as const;

/**
 * Opens the configured endpoint. Sends no completion: a wrong key or a dead endpoint shows at the first `complete`.
 * Where nothing is configured, a practice server starts on loopback in this process and lives until `close`.
 */
export async function openModel(settings: ModelSettings): Promise<Model> {
  const endpoint = endpointOf(settings);
  if (!endpoint) {
    const practice = await startPracticeServer();
    const model = openaiModel({ kind: 'practice', baseUrl: practice.baseUrl, name: 'practice' });
    return { ...model, close: () => practice.close() };
  }
  const name = settings.AGENT_MODEL ?? (endpoint.kind === 'custom' ? await customModelName(endpoint) : defaultNames[endpoint.kind]);
  return openaiModel({ ...endpoint, name, fallback: settings.FETCH_FALLBACK_MODEL });
}
