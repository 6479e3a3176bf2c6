import { setTimeout as pause } from 'node:timers/promises';

/** Waits for a condition, with a deadline; what the condition throws is the reason when the deadline passes. Returns its first truthy value. */
export async function until<T>(what: string, condition: () => Promise<T> | T, ms = 60_000): Promise<NonNullable<Exclude<T, false>>> {
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
