import type { ActivityInterceptorsFactory, WorkerOptions } from '@temporalio/worker';
import { type Traced, traceOf } from '../../../store/home/operations.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { isTracing, type SpanAttributes, traced } from '../../../telemetry/tracing.ts';

/**
 * Each attempt of an activity is a span in the trace of the message that it works for. That trace is read from the
 * message's row. Headers of Temporal, which
 * `@temporalio/interceptors-opentelemetry` follows, would not do: a conversation runs for ever, so every later message
 * would be in the trace of the first one, and a new Temporal server would have none. Workflows stay as they are.
 */
export const activityTraces = (db: Db): Pick<WorkerOptions, 'interceptors'> =>
  isTracing() ? { interceptors: { activity: [tracing(db)] } } : {};

const tracing =
  (db: Db): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const work = workOf(input.args[0]);
        // a store that is away is told by the activity itself
        const parent = await traceOf(db, work).catch(() => null);
        const attributes = {
          ...idsOf(work),
          'fetch.attempt': info.attempt,
          'fetch.queued_ms': Math.max(0, Date.now() - info.currentAttemptScheduledTimestampMs),
          ...(info.workflowExecution && { 'temporal.workflow_id': info.workflowExecution.workflowId }),
        };
        return await traced(info.activityType, { kind: 'consumer', parent, attributes }, () => next(input));
      },
    },
  });

/** Inputs of activities name what they work on in these fields. */
function workOf(input: unknown): Traced {
  const { turnId, outboxId, taskId } = (input ?? {}) as Record<keyof Traced, unknown>;
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return { turnId: text(turnId), outboxId: text(outboxId), taskId: text(taskId) };
}

const idsOf = ({ turnId, outboxId, taskId }: Traced): SpanAttributes => ({
  ...(turnId && { 'fetch.turn_id': turnId }),
  ...(outboxId && { 'fetch.outbox_id': outboxId }),
  ...(taskId && { 'fetch.task_id': taskId }),
});
