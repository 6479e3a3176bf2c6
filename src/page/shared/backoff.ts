const FIRST_MS = 250;
const LONGEST_MS = 5_000;

/** The wait before the next attempt to connect; ms. `chance` (0 to 1) keeps many pages from coming back at the same moment. */
export const backoffMs = (attempt: number, chance: number): number =>
  Math.round(Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10)) * (0.75 + chance / 2));
