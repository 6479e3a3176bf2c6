import { setTimeout as pause } from 'node:timers/promises';

/**
 * What a busy machine may take for what a quiet one does in a second: a wait ends as soon as its condition holds, so it
 * costs nothing.
 */
const BUSY_MS = 30_000;
const LOOK_EVERY_MS = 25;
/** A look at containers or at memory takes so long that looks without a pause would keep a core busy. */
const PAUSE_PER_LOOK = 4;
const LONGEST_PAUSE_MS = 250;
/** A wait of seconds needs fewer looks: they ask the same servers as what is waited for. It lasts a twentieth longer. */
const PAUSE_PER_WAIT = 1 / 20;
const LONGEST_PAUSE_PER_WAIT_MS = 100;

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
  const started = Date.now();
  const deadline = started + ms;
  let reason: unknown;
  for (;;) {
    const began = Date.now();
    try {
      const value = await condition();
      if (value) return value as NonNullable<Exclude<T, false>>;
      reason = undefined;
    } catch (error) {
      reason = error;
    }
    const now = Date.now();
    if (now > deadline) throw new Error(`waited ${ms} ms in vain: ${what}`, { cause: reason });
    const perWait = Math.min(LONGEST_PAUSE_PER_WAIT_MS, PAUSE_PER_WAIT * (now - started));
    await pause(Math.min(LONGEST_PAUSE_MS, Math.max(LOOK_EVERY_MS, perWait, PAUSE_PER_LOOK * (now - began))));
  }
}

/** Repeats what has to happen within one second of the clock until it did, and waits for the end of that second. */
export async function withinOneSecond(work: () => void): Promise<void> {
  const second = () => Math.floor(Date.now() / 1000);
  let began: number;
  do {
    began = second();
    work();
  } while (second() !== began);
  await until('the next second', () => second() > began);
}
