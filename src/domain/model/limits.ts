import type { LimitKind } from '../../contracts/task.ts';
import { MINUTE } from '../time.ts';

/** Waits for a limit whose end is not named, in seconds: a usage window of five hours is tried ten times. */
const LIMIT_S = [5, 15, 30, 60, 120, 300, 900, 1_800, 3_600];
/** An overload may end at any moment. */
const OVERLOAD_S = [5, 10, 20, 40, 60];
/** An endpoint without capacity cannot know when it has some. */
const LONGEST_OVERLOAD_MS = 20 * MINUTE;

/** How long to wait, in ms. `named`: what the endpoint said. `before`: earlier waits that were in vain. */
export function limitWaitMs(kind: LimitKind, named: number | null, before: number): number {
  const steps = kind === 'overload' ? OVERLOAD_S : LIMIT_S;
  const own = steps[Math.min(before, steps.length - 1)]! * 1_000;
  if (named === null) return own;
  // a time that was named and passed in vain is not believed at once again
  return Math.max(
    kind === 'overload' ? Math.min(named, LONGEST_OVERLOAD_MS) : named,
    Math.min(own, 60_000) * Number(before > 0),
  );
}
