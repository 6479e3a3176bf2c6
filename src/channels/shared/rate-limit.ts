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
    const { admitted, window, retryAt } = admitInWindow(known.window, at, limit, WINDOW_MS);
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

/**
 * One message of an author against a sliding window. The caller keeps `window` (times of admitted messages in ms, oldest first, never more than
 * `limit`) between calls. A refused message leaves no trace in it, so that somebody who keeps writing is admitted again in time.
 * `retryAt` is when the next message will be admitted: now, unless this one was refused.
 */
export function admitInWindow(
  window: readonly number[],
  now: number,
  limit: number,
  windowMs: number,
): { admitted: boolean; window: number[]; retryAt: number } {
  // a clock that was set back must not lock an author out until it has caught up
  const recent = window.map((at) => Math.min(at, now)).filter((at) => at > now - windowMs);
  if (recent.length < limit) return { admitted: true, window: [...recent, now], retryAt: now };
  const kept = limit > 0 ? recent.slice(-limit) : [];
  return { admitted: false, window: kept, retryAt: (kept[0] ?? now) + windowMs };
}
