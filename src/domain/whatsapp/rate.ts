/**
 * One message of an author against a sliding window. The caller keeps `window` (times of admitted messages in ms, oldest first, never more than
 * `limit`) between calls. A refused message leaves no trace in it, so that somebody who keeps writing is admitted again in time.
 * `retryAt` is when the next message will be admitted: now, unless this one was refused.
 */
export function admit(window: readonly number[], now: number, limit: number, windowMs: number): { admitted: boolean; window: number[]; retryAt: number } {
  // a clock that was set back must not lock an author out until it has caught up
  const recent = window.map((at) => Math.min(at, now)).filter((at) => at > now - windowMs);
  if (recent.length < limit) return { admitted: true, window: [...recent, now], retryAt: now };
  const kept = limit > 0 ? recent.slice(-limit) : [];
  return { admitted: false, window: kept, retryAt: (kept[0] ?? now) + windowMs };
}
