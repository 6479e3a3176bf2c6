import type { Logger } from 'pino';
import { HOUR } from '../../../../domain/time.ts';
import type { RatchetHealth } from '../ratchet/ratchet.ts';

/** Times in ms. */
export interface WatchdogTimes {
  /** when a message waits this long while nothing else was decrypted, decryption is stuck */
  stuckMs: number;
  /** without any message for this long, the connection is tested and renewed */
  silentMs: number;
  checkMs: number;
}

const TIMES: WatchdogTimes = { stuckMs: 60_000, silentMs: 6 * HOUR, checkMs: 10_000 };

interface WatchdogOptions {
  health(): RatchetHealth;
  /** resolves when the Signal store and the server answer */
  probe(): Promise<void>;
  reconnect(): void;
  /** ends the process: a new socket would not help, because libsignal's queues are global */
  exit(reason: string): void;
  log: Logger;
  /** counts silence over several connections */
  silence: { reconnections: number };
  times?: Partial<WatchdogTimes>;
  now?: () => number;
}

const PROBE_MS = 30_000;

/** Detects a connection that is open but delivers nothing. Returns a function that stops it. */
export function startWatchdog(options: WatchdogOptions): () => void {
  const { health, log, silence, now = Date.now } = options;
  const times = { ...TIMES, ...options.times };
  const openedAt = now();
  let probing = false;

  const check = async (): Promise<void> => {
    const { waitingSince, lastSettledAt, lastStanzaAt } = health();
    if (waitingSince !== null && now() - Math.max(waitingSince, lastSettledAt) > times.stuckMs)
      return options.exit(
        'a WhatsApp message arrived and was not decrypted within a minute: the connection is open but deaf',
      );
    if (lastStanzaAt > openedAt) silence.reconnections = 0;
    if (probing || now() - Math.max(lastStanzaAt, openedAt) < times.silentMs) return;
    probing = true;
    const late = new Promise<never>((_, reject) =>
      setTimeout(reject, PROBE_MS, new Error(`no answer within ${PROBE_MS} ms`)).unref(),
    );
    try {
      await Promise.race([options.probe(), late]);
    } catch (error) {
      return options.exit(
        `WhatsApp was silent for long, and a test of the connection failed: ${(error as Error).message}`,
      );
    }
    // one quiet day is possible; after three silent periods with a new connection each, a restart is cheap
    if (silence.reconnections >= 3) {
      silence.reconnections = 0;
      return options.exit('WhatsApp was silent over several reconnections');
    }
    silence.reconnections += 1;
    log.info('no WhatsApp message for long: renewing the connection');
    options.reconnect();
  };
  const timer = setInterval(() => void check(), times.checkMs);
  return () => clearInterval(timer);
}
