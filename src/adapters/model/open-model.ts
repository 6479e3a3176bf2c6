import type { Config } from '../../config.ts';
import type { Endpoint, Model } from './model.ts';
import { customModelName, openaiModel } from './openai.ts';
import { startPracticeServer } from './practice-server.ts';

export type ModelSettings = Pick<Config, 'OPENAI_BASE_URL' | 'OPENAI_API_KEY' | 'OPENROUTER_API_KEY' | 'AGENT_MODEL' | 'FETCH_FALLBACK_MODEL'>;

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENROUTER_URL = 'https://openrouter.ai/api/v1';

/** The name of the built-in model. It answers where no endpoint and no key is configured; a key that comes later wins over it. */
export const PRACTICE = 'practice';

/** What the settings point at; null: nothing is configured, so practice. */
export function endpointOf(settings: ModelSettings): Endpoint | null {
  if (settings.OPENAI_BASE_URL) {
    const { hostname } = new URL(settings.OPENAI_BASE_URL);
    const openrouter = hostname === 'openrouter.ai';
    const kind = openrouter ? 'openrouter' : hostname === 'api.openai.com' ? 'openai' : 'custom';
    // an OpenRouter key is never sent to another host
    const apiKey = settings.OPENAI_API_KEY ?? (openrouter ? settings.OPENROUTER_API_KEY : undefined);
    return { kind, baseUrl: settings.OPENAI_BASE_URL.replace(/(?<!\/)\/+$/, ''), apiKey };
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
    const model = openaiModel({ kind: 'practice', baseUrl: practice.baseUrl, name: PRACTICE });
    return { ...model, close: () => practice.close() };
  }
  const chosen = settings.AGENT_MODEL === PRACTICE ? undefined : settings.AGENT_MODEL;
  const name = chosen ?? (endpoint.kind === 'custom' ? await customModelName(endpoint) : defaultNames[endpoint.kind]);
  return openaiModel({ ...endpoint, name, fallback: settings.FETCH_FALLBACK_MODEL });
}
