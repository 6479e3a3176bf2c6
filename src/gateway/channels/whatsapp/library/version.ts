import type { Logger } from 'pino';
import type { Baileys } from './baileys.ts';

type Version = readonly [number, number, number];

const FETCH_MS = 10_000;

const parse = (text: string): Version => text.split('.').map(Number) as unknown as Version;
const newer = (a: Version, b: Version): boolean =>
  a[0] !== b[0] ? a[0] > b[0] : a[1] !== b[1] ? a[1] > b[1] : a[2] > b[2];

/**
 * The version to announce: the configured one, else one that was accepted after a refusal if it is newer than the
 * bundled one, else null (bundled).
 */
export function announcedVersion(
  configured: string | undefined,
  accepted: string | null,
  bundled: Version,
): string | null {
  if (configured) return configured;
  return accepted && newer(parse(accepted), bundled) ? accepted : null;
}

/**
 * A newer version of WhatsApp Web than the refused one, from the two public sources; null when there is none. Asked
 * only after a refusal.
 */
export async function fetchNewerVersion(baileys: Baileys, refused: string | null, log: Logger): Promise<string | null> {
  const than: Version = refused ? parse(refused) : (baileys.DEFAULT_CONNECTION_CONFIG.version as Version);
  const late = new Promise<null>((resolve) => setTimeout(resolve, FETCH_MS, null).unref());
  for (const fetchLatest of [baileys.fetchLatestWaWebVersion, baileys.fetchLatestBaileysVersion]) {
    const found = await Promise.race([
      fetchLatest({ signal: AbortSignal.timeout(FETCH_MS) } as RequestInit).catch(() => null),
      late,
    ]);
    if (found?.isLatest && newer(found.version, than)) return found.version.join('.');
  }
  log.warn('no newer version of WhatsApp Web could be found');
  return null;
}
