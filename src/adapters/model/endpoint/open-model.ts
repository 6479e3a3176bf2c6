import type { Model } from '../model.ts';
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
