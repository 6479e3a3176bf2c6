import { createHash } from 'node:crypto';
import type { Config } from '../../../config.ts';
import { isPublicAddress, literalAddress } from '../../web/address-guard.ts';
import type { Endpoint } from '../model.ts';

export type ModelSettings = Pick<
  Config,
  'OPENAI_BASE_URL' | 'OPENAI_API_KEY' | 'OPENROUTER_API_KEY' | 'AGENT_MODEL' | 'FETCH_FALLBACK_MODEL'
> &
  Partial<Pick<Config, 'FETCH_MODEL_SILENCE_SECONDS' | 'FETCH_MODEL_PRICE'>>;

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENROUTER_URL = 'https://openrouter.ai/api/v1';

/** The name of the built-in model. It answers while no endpoint and no key is configured. */
export const PRACTICE = 'practice';

/** The endpoint that the settings name; null when nothing is configured, which means practice. */
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
  if (settings.OPENROUTER_API_KEY)
    return { kind: 'openrouter', baseUrl: OPENROUTER_URL, apiKey: settings.OPENROUTER_API_KEY };
  return null;
}

/** Whether an endpoint's address is on this machine or in a private network. Names are not looked up. */
export function isLocalEndpoint(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  const address = literalAddress(hostname);
  if (address) return !isPublicAddress(address);
  return !hostname.includes('.') || /\.(localhost|local|internal|lan|home\.arpa)\.?$/i.test(hostname);
}

/**
 * The account that the limits of an endpoint belong to: its origin and its key. Chats and coding tasks with the same account share
 * what they know of a limit. The few digits of the hash tell two keys apart and say nothing else of them.
 */
export function accountOf(baseUrl: string, key: string | undefined): string {
  const { origin } = new URL(baseUrl);
  return key ? `${origin}#${createHash('sha256').update(key).digest('hex').slice(0, 8)}` : origin;
}
