import { ActivityFailure, ApplicationFailure, isCancellation, proxyLocalActivities, sleep } from '@temporalio/workflow';
import { nonRetryableTypes } from '../../domain/failures.ts';

/** A short outage of the database is retried inside the workflow task, at three history events every four seconds. */
const FIRST_MS = 60_000;
/** In a longer outage each retry waits for a timer, at six events for each. */
const WAITS_MS = [15_000, 30_000, 60_000, 120_000];
const LONGEST_MS = 300_000;
/** Shorter than the workflow task's time-out, so that an attempt costs no heartbeat of the workflow task. */
const LOOK_MS = 3_000;

/** Local activities that are retried for ever. The `summary` stands beside the marker for operators. */
type Patient<A> = {
  [K in keyof A]: A[K] extends (...args: infer I) => infer O
    ? { executeWithOptions(options: { summary: string }, args: I): O }
    : never;
};

/**
 * Short idempotent activities on our own store, run as local activities. They are retried until the store is back; only
 * a failure that cannot be retried is thrown. A day without a database adds fewer than 2,000 events.
 */
export function patientRecords<A>(): Patient<A> {
  const retry = {
    initialInterval: 100,
    backoffCoefficient: 2,
    maximumInterval: 5_000,
    nonRetryableErrorTypes: nonRetryableTypes,
  };
  const first = proxyLocalActivities({
    startToCloseTimeout: 10_000,
    scheduleToCloseTimeout: FIRST_MS,
    localRetryThreshold: FIRST_MS,
    retry,
  });
  const look = proxyLocalActivities({ startToCloseTimeout: LOOK_MS, retry: { ...retry, maximumAttempts: 1 } });
  const insist = async (name: string, options: { summary: string }, args: unknown[]): Promise<unknown> => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await (failures === 0 ? first : look)[name]!.executeWithOptions(options, args);
      } catch (error) {
        if (isFinal(error)) throw error;
        await sleep(WAITS_MS[failures] ?? LONGEST_MS, {
          summary: `${options.summary}: failed, is tried again (${reason(error)})`,
        });
      }
    }
  };
  return new Proxy({} as Patient<A>, {
    get: (_, name: string) => ({
      executeWithOptions: (options: { summary: string }, args: unknown[]) => insist(name, options, args),
    }),
  });
}

function isFinal(error: unknown): boolean {
  if (!(error instanceof ActivityFailure) || isCancellation(error)) return true;
  const { cause } = error;
  return (
    cause instanceof ApplicationFailure && (cause.nonRetryable === true || nonRetryableTypes.includes(cause.type ?? ''))
  );
}

/** Only the type: the message of a database error may hold a query's values. */
const reason = (error: unknown): string => {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure ? (cause.type ?? 'Error') : 'no answer';
};
