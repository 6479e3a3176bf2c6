import { admit } from '../../domain/whatsapp/rate.ts';

const WINDOW_MS = 60_000;
const NOTICE_EVERY_MS = 10 * 60_000;

/** `until` in ms since the epoch; `tell`: say it now, because it was not said lately. */
export type Limited = { admitted: true } | { admitted: false; until: number; tell: boolean };

/** The rate limit of each author. Kept in memory: after a restart an author has a fresh window, and nothing else. */
export interface Limiter {
  /** `at` is when the server took the message, ms: what was written over an hour is no flood because it arrives at once */
  check(author: string, at: number): Limited;
  /** messages that were held before come as one, and count as one */
  checkHeld(author: string): Limited;
}

export function createLimiter(limit: number, now: () => number = Date.now): Limiter {
  const authors = new Map<string, { window: number[]; heldUntil: number; toldAt: number }>();
  const check = (author: string, at: number, held: boolean): Limited => {
    const known = authors.get(author) ?? { window: [], heldUntil: 0, toldAt: 0 };
    authors.set(author, known);
    // what comes after held messages waits with them, or it would overtake them
    const waits = !held && now() < known.heldUntil;
    const { admitted, window, retryAt } = admit(known.window, at, limit, WINDOW_MS);
    if (admitted && !waits) {
      known.window = window;
      return { admitted: true };
    }
    known.heldUntil = Math.max(known.heldUntil, retryAt);
    const tell = now() - known.toldAt > NOTICE_EVERY_MS;
    if (tell) known.toldAt = now();
    return { admitted: false, until: Math.max(known.heldUntil, now()), tell };
  };
  return { check: (author, at) => check(author, at, false), checkHeld: (author) => check(author, now(), true) };
}
