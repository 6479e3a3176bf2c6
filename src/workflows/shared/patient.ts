import { ActivityFailure, ApplicationFailure, isCancellation, proxyLocalActivities, sleep } from '@temporalio/workflow';
import { nonRetryableTypes } from '../../domain/failures.ts';

/** A short trouble of the database is waited out inside the workflow task, which costs three history events every four seconds. */
const FIRST_MS = 60_000;
/** A long one is waited out on timers: six events for each look. */
const WAITS_MS = [15_000, 30_000, 60_000, 120_000];
const LONGEST_MS = 300_000;
/** Below the workflow task's own time-out: a look must not cost a heartbeat of the workflow task. */
const LOOK_MS = 3_000;

/** Local activities that are never given up. `summary`: what an operator reads beside the marker. */
export type Patient<A> = {
  [K in keyof A]: A[K] extends (...args: infer I) => infer O ? { executeWithOptions(options: { summary: string }, args: I): O } : never;
};

/**
 * Short, idempotent steps on our own store, as local activities. They are tried again until the store is back; what says that trying
 * again is pointless is thrown. The history of a day without a database stays below 2,000 events.
 */
export function patientRecords<A>(): Patient<A> {
  const retry = { initialInterval: 100, backoffCoefficient: 2, maximumInterval: 5_000, nonRetryableErrorTypes: nonRetryableTypes };
  const first = proxyLocalActivities({ startToCloseTimeout: 10_000, scheduleToCloseTimeout: FIRST_MS, localRetryThreshold: FIRST_MS, retry });
  const look = proxyLocalActivities({ startToCloseTimeout: LOOK_MS, retry: { ...retry, maximumAttempts: 1 } });
  const insist = async (name: string, options: { summary: string }, args: unknown[]): Promise<unknown> => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await (failures === 0 ? first : look)[name]!.executeWithOptions(options, args);
      } catch (error) {
        if (isFinal(error)) throw error;
        await sleep(WAITS_MS[failures] ?? LONGEST_MS, { summary: `${options.summary}: failed, is tried again (${reason(error)})` });
      }
    }
  };
  return new Proxy({} as Patient<A>, {
    get: (_, name: string) => ({ executeWithOptions: (options: { summary: string }, args: unknown[]) => insist(name, options, args) }),
  });
}

function isFinal(error: unknown): boolean {
  if (!(error instanceof ActivityFailure) || isCancellation(error)) return true;
  const { cause } = error;
  return cause instanceof ApplicationFailure && (cause.nonRetryable === true || nonRetryableTypes.includes(cause.type ?? ''));
}

/** The type alone: a message of a database may hold what it was asked. */
const reason = (error: unknown): string => {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure ? (cause.type ?? 'Error') : 'no answer';
};
