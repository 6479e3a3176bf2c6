import type { FailureType } from '../failures.ts';

/** How long a model step goes on trying. Its attempts are those of one activity: nothing runs and no place of a worker is held between them. */

export interface PatienceLimits {
  /** an endpoint that gives no answer is given up after so many ms of asking */
  silenceMs: number;
  /** rate and usage limits are waited out for so many ms in all */
  waitMs: number;
}

/** What attempts leave to the next one of their step. Milliseconds. */
export interface Patience {
  /** attempts that a failure of the model has ended */
  failures: number;
  /** rate limits among them */
  limits: number;
  /** spent asking an endpoint that gave no answer, waits between included */
  triedMs: number;
  /** spent waiting for a limit to open: not a turn's time */
  waitedMs: number;
}

export const FRESH: Patience = { failures: 0, limits: 0, triedMs: 0, waitedMs: 0 };

/** What an earlier attempt has left, whatever version of us that was. */
export function patienceFrom(stored: unknown): Patience {
  const known = (typeof stored === 'object' && stored !== null ? stored : {}) as Record<string, unknown>;
  const of = (name: keyof Patience) => (typeof known[name] === 'number' && Number.isFinite(known[name]) ? Math.max(0, known[name]) : 0);
  return { failures: of('failures'), limits: of('limits'), triedMs: of('triedMs'), waitedMs: of('waitedMs') };
}

export interface ModelFailure {
  type: FailureType;
  /** when the endpoint said that it may be asked again; it named no time when unset */
  retryAfterMs?: number | undefined;
}

/** `limit`: the endpoint asked for the wait. `next`: what the next attempt begins with. */
export type Verdict = { what: 'limit' | 'silence'; next: Patience; waitMs: number } | { what: 'give up'; limit: boolean };

const FIRST_MS = { limit: 1_000, silence: 300 };
/** Without a named time a window of five hours is knocked at this often. */
const LONGEST_MS = { limit: 15 * 60_000, silence: 30_000 };
/** An endpoint that names a second again and again is asked no more often than this. */
const LONGEST_FLOOR_MS = 60_000;
/** A wait that is named for longer than this is waited for like a rate limit, whatever the status was: maintenance says so, too. */
const ANNOUNCED_MS = 60_000;

/**
 * What follows from a failed attempt that took `tookMs`. `chance`, from 0 to 1, spreads what many chats do at the same moment; it never
 * makes a wait shorter than the endpoint asked for.
 */
export function afterFailure(before: Patience, failure: ModelFailure, tookMs: number, limits: PatienceLimits, chance: number): Verdict {
  const { retryAfterMs: named } = failure;
  const failures = before.failures + 1;
  if (failure.type === 'ModelRateLimited' || (named !== undefined && named > ANNOUNCED_MS)) {
    const own = backoff('limit', before.limits);
    const waitMs = Math.ceil(
      named === undefined ? own * (1 + chance / 4) : Math.max(named + Math.min(named / 20, 30_000) * chance, Math.min(own, LONGEST_FLOOR_MS)),
    );
    if (before.waitedMs + waitMs > limits.waitMs) return { what: 'give up', limit: true };
    return { what: 'limit', waitMs, next: { ...before, failures, limits: before.limits + 1, waitedMs: before.waitedMs + waitMs } };
  }
  const waitMs = Math.ceil(Math.max(named ?? 0, backoff('silence', before.failures - before.limits) * (1 + chance / 4)));
  const triedMs = before.triedMs + tookMs;
  if (triedMs >= limits.silenceMs) return { what: 'give up', limit: false };
  return { what: 'silence', waitMs, next: { ...before, failures, triedMs: triedMs + waitMs } };
}

const backoff = (kind: 'limit' | 'silence', times: number): number => Math.min(FIRST_MS[kind] * 2 ** Math.min(times, 30), LONGEST_MS[kind]);
