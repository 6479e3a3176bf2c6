import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { guardCertificates } from './certificates.ts';
import { silenceConsole, withoutSecrets } from './silence.ts';

export type Baileys = typeof import('@whiskeysockets/baileys');

let loaded: Promise<Baileys> | undefined;

/**
 * Imports Baileys on first use (a gateway without WhatsApp needs no memory for it), and never before `console` is
 * silenced. For a test server, the root key of its Noise certificates replaces WhatsApp's in the whole process.
 */
export function loadBaileys(log: Logger, noiseRootKey?: string): Promise<Baileys> {
  loaded ??= (async () => {
    silenceConsole(log);
    guardSessions();
    const baileys = await import('@whiskeysockets/baileys');
    guardCertificates(baileys);
    return baileys;
  })();
  return loaded.then((baileys) => {
    if (noiseRootKey) baileys.WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(noiseRootKey, 'hex');
    return baileys;
  });
}

let tolerant = false;

/**
 * Nobody awaits some of Baileys' own promises, which fail when a connection closes. These must not end the process; any
 * other stray rejection must.
 */
export function tolerateStrayRejections(log: Logger): void {
  if (tolerant) return;
  tolerant = true;
  process.on('unhandledRejection', (error) => {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    if (/[\\/]@whiskeysockets[\\/]|[\\/]libsignal[\\/]/.test(stack ?? ''))
      return log.info({ reason: withoutSecrets(message) }, 'a promise of Baileys failed unheard');
    log.fatal(
      { reason: withoutSecrets(message), stack: stack?.split('\n').slice(1, 6).join('\n') },
      'a promise failed unheard',
    );
    process.exit(1);
  });
}

/**
 * The logger for Baileys. It logs texts and the reason of an error, never objects, because they hold stanzas, keys and
 * JIDs.
 */
export function quietLogger(log: Logger): QuietLogger {
  const write = (level: 'warn' | 'error') => (details: unknown, message?: string) => {
    const text = message ?? (typeof details === 'string' ? details : '');
    // errors of Baileys mostly concern one stanza or query; the connection tells people what matters
    log[level === 'error' ? 'warn' : 'info']({ reason: reasonOf(details) }, withoutSecrets(text));
  };
  const nothing = () => {};
  const quiet: QuietLogger = {
    level: 'warn',
    child: () => quiet,
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: write('warn'),
    error: write('error'),
  };
  return quiet;
}

interface QuietLogger {
  level: string;
  child(): QuietLogger;
  trace(details: unknown, message?: string): void;
  debug(details: unknown, message?: string): void;
  info(details: unknown, message?: string): void;
  warn(details: unknown, message?: string): void;
  error(details: unknown, message?: string): void;
}

function reasonOf(details: unknown): string | undefined {
  const holder = details as { err?: unknown; error?: unknown; e?: unknown; trace?: unknown } | null;
  if (typeof holder !== 'object' || holder === null) return undefined;
  const cause = details instanceof Error ? details : (holder.err ?? holder.error ?? holder.e ?? holder.trace);
  if (cause === undefined) return undefined;
  const text = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause.split('\n')[0]! : '';
  return text ? withoutSecrets(text) : undefined;
}

interface Session {
  serialize(): object;
  constructor: { deserialize(data: object): Session };
}
interface Libsignal {
  SessionCipher: {
    prototype: { doDecryptWhisperMessage(message: Buffer, session: Session | undefined): Promise<Buffer> };
  };
}

let guarded = false;

/**
 * Leaves a session unchanged when an attempt to decrypt fails. libsignal tries a message on every session with a
 * device, advances each ratchet before it checks the MAC, and stores all of them when one fits. So a message that its
 * author encrypted before knowing our newest session would ruin that session, and nobody could read what is sent in it.
 * Affects the libsignal that Baileys uses, in the whole process.
 */
function guardSessions(): void {
  if (guarded) return;
  guarded = true;
  const { resolve } = createRequire(import.meta.url);
  const { prototype } = (createRequire(resolve('@whiskeysockets/baileys'))('libsignal') as Libsignal).SessionCipher;
  const decrypt = prototype.doDecryptWhisperMessage;
  prototype.doDecryptWhisperMessage = async function (message, session) {
    const before = session?.serialize();
    try {
      return await decrypt.call(this, message, session);
    } catch (error) {
      if (session && before) Object.assign(session, session.constructor.deserialize(before));
      throw error;
    }
  };
}

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
