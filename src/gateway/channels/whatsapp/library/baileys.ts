import type { Logger } from 'pino';
import { guardCertificates } from './certificates.ts';
import { guardSessions } from './sessions.ts';
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
