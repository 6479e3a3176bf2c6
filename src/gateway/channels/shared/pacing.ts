import { setTimeout as pause } from 'node:timers/promises';
import { DAY, MINUTE } from '../../../domain/time.ts';
import { ChannelAway } from '../channel.ts';

/**
 * How fast an account may send. WhatsApp documents no limits; its settings come from users' experience
 * (docs/whatsapp.md).
 */
interface PaceLimits {
  /** shortest time between two messages, plus a random time of up to the same length; 0 turns pacing off */
  paceMs: number;
  perMinute: number;
  perDay: number;
}

/** A longer wait goes back to the task queue, because a waiting activity takes a slot that another chat can use. */
const PATIENCE_MS = 30_000;

/**
 * Milliseconds until the next message may be sent. `sent`: times of sent and planned messages, oldest first; `random`
 * in [0, 1).
 */
export function waitFor(sent: readonly number[], now: number, limits: PaceLimits, random: number): number {
  if (limits.paceMs === 0) return 0;
  const after = (count: number, window: number): number =>
    sent.length < count ? 0 : sent[sent.length - count]! + window - now;
  const least = Math.max(0, after(1, limits.paceMs), after(limits.perMinute, MINUTE), after(limits.perDay, DAY));
  return Math.ceil(least + random * limits.paceMs);
}

export interface Pacer {
  /** Returns when this message may be sent. Throws `ChannelAway` when that takes too long. */
  take(signal: AbortSignal): Promise<void>;
}

/** `load` returns the send times of the last day, so that a restart does not reset the daily limit. */
export function createPacer(
  limits: PaceLimits,
  load: (since: Date) => Promise<number[]>,
  { random = Math.random, onDayFull }: { random?: () => number; onDayFull?: () => void } = {},
): Pacer {
  let sent: number[] | undefined;
  return {
    async take(signal) {
      if (limits.paceMs === 0) return;
      sent ??= await load(new Date(Date.now() - DAY));
      const now = Date.now();
      while (sent.length > 0 && sent[0]! <= now - DAY) sent.shift();
      const wait = waitFor(sent, now, limits, random());
      if (sent.length >= limits.perDay && wait > MINUTE) onDayFull?.();
      if (wait > PATIENCE_MS)
        throw new ChannelAway(
          `Paced: the next message may leave in ${Math.ceil(wait / 1000)} s.`,
          Math.min(wait, 10 * MINUTE),
        );
      const slot = now + wait;
      sent.push(slot);
      try {
        await pause(wait, undefined, { signal });
      } catch (error) {
        sent.splice(sent.indexOf(slot), 1);
        throw error;
      }
    },
  };
}
