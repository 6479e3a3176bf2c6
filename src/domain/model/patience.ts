import type { FailureType } from '../failures.ts';
import { MINUTE } from '../time.ts';

/**
 * How long a model step keeps trying. Its attempts are retries of one activity, so nothing runs and no worker slot is
 * taken between them.
 */

export interface PatienceLimits {
  /** give up an endpoint that does not answer after this many ms of asking */
  silenceMs: number;
  /** wait for rate and usage limits for this many ms in all */
  waitMs: number;
}

/** State that one attempt of a step passes on to the next, in ms. */
export interface Patience {
  /** attempts that ended with a failure of the model */
  failures: number;
  /** how many of them were answers that told of a rate limit */
  limits: number;
  /** time spent asking an endpoint that did not answer, with the waits in between */
  triedMs: number;
  /** time spent waiting for a limit to open; it does not count as the turn's time */
  waitedMs: number;
}

export const FRESH: Patience = { failures: 0, limits: 0, triedMs: 0, waitedMs: 0 };

/** Reads what an earlier attempt left, which may have been another release. */
export function patienceFrom(stored: unknown): Patience {
  const known = (typeof stored === 'object' && stored !== null ? stored : {}) as Record<string, unknown>;
  const of = (name: keyof Patience) =>
    typeof known[name] === 'number' && Number.isFinite(known[name]) ? Math.max(0, known[name]) : 0;
  return { failures: of('failures'), limits: of('limits'), triedMs: of('triedMs'), waitedMs: of('waitedMs') };
}

export interface ModelFailure {
  type: FailureType;
  /** when the endpoint said it may be asked again; unset when it named no time */
  retryAfterMs?: number | undefined;
  /** the endpoint was not asked, because others had met its limit */
  held?: boolean | undefined;
}

/** `limit`: the endpoint asked for the wait. `next`: what the next attempt starts from. */
export type Verdict =
  | { what: 'limit' | 'silence'; next: Patience; waitMs: number }
  | { what: 'give up'; limit: boolean };

const FIRST_MS = { limit: 1_000, silence: 300 };
/** Longest wait without a named time: a usage window of five hours is tried this often. */
const LONGEST_MS = { limit: 15 * MINUTE, silence: 30_000 };
/** An endpoint that always names a second is asked no more often than this. */
const LONGEST_FLOOR_MS = 60_000;
/** A longer announced wait is treated like a rate limit, whatever the status: maintenance announces waits too. */
const ANNOUNCED_MS = 60_000;

/**
 * What follows from a failed attempt that took `tookMs`. `chance`, from 0 to 1, spreads the retries of many chats. It
 * never makes a wait shorter than the endpoint asked for.
 */
export function afterFailure(
  before: Patience,
  failure: ModelFailure,
  tookMs: number,
  limits: PatienceLimits,
  chance: number,
): Verdict {
  const { retryAfterMs: named } = failure;
  const failures = before.failures + 1;
  if (failure.type === 'ModelRateLimited' || (named !== undefined && named > ANNOUNCED_MS)) {
    // the pace of asking is for who asks
    const own = failure.held ? 0 : backoff('limit', before.limits);
    const waitMs = Math.ceil(
      named === undefined
        ? own * (1 + chance / 4)
        : Math.max(named + Math.min(named / 20, 30_000) * chance, Math.min(own, LONGEST_FLOOR_MS)),
    );
    if (before.waitedMs + waitMs > limits.waitMs) return { what: 'give up', limit: true };
    return {
      what: 'limit',
      waitMs,
      next: { ...before, failures, limits: before.limits + Number(!failure.held), waitedMs: before.waitedMs + waitMs },
    };
  }
  const waitMs = Math.ceil(
    Math.max(named ?? 0, backoff('silence', before.failures - before.limits) * (1 + chance / 4)),
  );
  const triedMs = before.triedMs + tookMs;
  if (triedMs >= limits.silenceMs) return { what: 'give up', limit: false };
  return { what: 'silence', waitMs, next: { ...before, failures, triedMs: triedMs + waitMs } };
}

const backoff = (kind: 'limit' | 'silence', times: number): number =>
  Math.min(FIRST_MS[kind] * 2 ** Math.min(times, 30), LONGEST_MS[kind]);
