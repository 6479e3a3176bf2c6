/**
 * How deep the arguments of a call may be nested. No tool needs more, and what walks through them calls itself for each
 * level.
 */
const MOST_LEVELS = 50;

/** Whether a JSON value has more levels than any tool needs. Looks level by level, so that no depth ends it. */
export function isTooDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}
