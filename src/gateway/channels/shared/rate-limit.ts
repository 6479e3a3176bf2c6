import { MINUTE } from '../../../domain/time.ts';

const WINDOW_MS = 60_000;
const NOTICE_EVERY_MS = 10 * MINUTE;

/** `until` in ms since the epoch; `tell`: tell the person now, because they were not told recently. */
type Limited = { admitted: true } | { admitted: false; until: number; tell: boolean };

/** The rate limit of each author. It is kept in memory, so after a restart each author has a fresh window. */
interface Limiter {
  /** `at`: when the server received the message, in ms. Messages of an hour are no flood when they arrive at once. */
  check(author: string, at: number): Limited;
  /** messages that were held back come as one, and count as one */
  checkHeld(author: string): Limited;
}

/** `limit`: messages in a minute; a function where a setting may change it. */
export function createLimiter(limit: number | (() => number), now: () => number = Date.now): Limiter {
  const authors = new Map<string, { window: number[]; heldUntil: number; toldAt: number }>();
  const check = (author: string, at: number, held: boolean): Limited => {
    const known = authors.get(author) ?? { window: [], heldUntil: 0, toldAt: 0 };
    authors.set(author, known);
    // a message after held ones waits with them, or it would overtake them
    const waits = !held && now() < known.heldUntil;
    const { admitted, window, retryAt } = admitInWindow(
      known.window,
      at,
      typeof limit === 'number' ? limit : limit(),
      WINDOW_MS,
    );
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
 * Checks one message of an author against a sliding window. The caller keeps `window` (times of admitted messages in
 * ms, oldest first, at most `limit`) between calls. A refused message is not recorded, so a person who keeps writing is
 * admitted again in time. `retryAt`: when the next message will be admitted; now, unless this one was refused.
 */
export function admitInWindow(
  window: readonly number[],
  now: number,
  limit: number,
  windowMs: number,
): { admitted: boolean; window: number[]; retryAt: number } {
  // after a clock was set back, an author must not be locked out until it catches up
  const recent = window.map((at) => Math.min(at, now)).filter((at) => at > now - windowMs);
  if (recent.length < limit) return { admitted: true, window: [...recent, now], retryAt: now };
  const kept = limit > 0 ? recent.slice(-limit) : [];
  return { admitted: false, window: kept, retryAt: (kept[0] ?? now) + windowMs };
}
