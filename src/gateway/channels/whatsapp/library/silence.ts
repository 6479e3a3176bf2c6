import { format } from 'node:util';
import type { Logger } from 'pino';

type ConsoleMethod = 'log' | 'info' | 'warn' | 'error' | 'debug' | 'trace' | 'dir';
const methods: readonly ConsoleMethod[] = ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir'];

/**
 * Replaces `console` before Baileys is imported, because libsignal prints whole session objects, with private ratchet
 * keys, through it. Only the fixed beginning of such a line is logged, at level debug. Returns a function that undoes
 * it.
 */
export function silenceConsole(log: Pick<Logger, 'debug'>): () => void {
  const before = methods.map((name) => [name, console[name]] as const);
  for (const name of methods) {
    console[name] = (first?: unknown) => {
      const text = typeof first === 'string' ? withoutSecrets(first) : '(an object)';
      log.debug({ console: name }, text);
    };
  }
  return () => {
    for (const [name, method] of before) console[name] = method as typeof console.log;
  };
}

/** Long runs of digits (phone numbers, JIDs) and of base64 or hex (keys) must not be logged. */
export function withoutSecrets(text: unknown): string {
  const flat = typeof text === 'string' ? text : format(text);
  return flat
    .slice(0, 300)
    .replace(/[A-Za-z0-9+/=_-]{24,}/g, '…')
    .replace(/\d{6,}/g, '…');
}
