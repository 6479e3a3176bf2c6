import { setTimeout as pause } from 'node:timers/promises';

/**
 * What a busy machine may take for what a quiet one does in a second: a wait ends as soon as its condition holds, so it
 * costs nothing.
 */
const BUSY_MS = 30_000;

/**
 * Waits for a condition, with a deadline of half a minute at least; what the condition throws is the reason when the
 * deadline passes. Returns its first truthy value.
 */
export function until<T>(
  what: string,
  condition: () => Promise<T> | T,
  ms = 60_000,
): Promise<NonNullable<Exclude<T, false>>> {
  return within(what, condition, Math.max(ms, BUSY_MS));
}

/**
 * As `until`, with a deadline that counts as it is: where the time is tested, or where the test goes on without the
 * condition.
 */
export async function within<T>(
  what: string,
  condition: () => Promise<T> | T,
  ms: number,
): Promise<NonNullable<Exclude<T, false>>> {
  const deadline = Date.now() + ms;
  let reason: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as NonNullable<Exclude<T, false>>;
      reason = undefined;
    } catch (error) {
      reason = error;
    }
    if (Date.now() > deadline) throw new Error(`waited ${ms} ms in vain: ${what}`, { cause: reason });
    await pause(25);
  }
}
