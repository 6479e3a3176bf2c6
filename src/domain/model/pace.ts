/** When a budget is used up, if it goes on as it went. */

export interface Pace {
  /** used within `ms` */
  amount: number;
  ms: number;
}

/** A pace that was watched for less time says nothing. */
const SHORTEST_MS = 60_000;

/** ms since the epoch; null: not before `until`, or nothing is used at present. What is used up already is so now. */
export function usedUpAt(
  budget: { used: number; limit: number },
  paces: readonly Pace[],
  now: number,
  until: number,
): number | null {
  if (budget.used >= budget.limit) return now;
  const perMs = paces.reduce((sum, { amount, ms }) => sum + amount / Math.max(ms, SHORTEST_MS), 0);
  if (perMs <= 0) return null;
  const at = now + (budget.limit - budget.used) / perMs;
  return at < until ? Math.ceil(at) : null;
}
