import type { TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

export interface TurnTimes {
  turnId: string;
  /**
   * milliseconds from the request to: its acknowledgement, the end of the turn visible to a reader of events, the
   * answer marked as sent
   */
  ack: number;
  seen: number;
  sent: number;
}

export interface TurnTaker {
  take(threadId: string, steps: unknown[], ms?: number): Promise<TurnTimes>;
  close(): Promise<void>;
}

/** `calls` tool calls, one a model step, then the answer: 2 * calls + 2 activities. */
export const steps = (calls: number): unknown[] => [
  ...Array.from({ length: calls }, (_, at) => ({ call: [['report_progress', { message: `part ${at + 1}` }]] })),
  { say: 'done' },
];
export const activitiesOf = (calls: number): number => 2 * calls + 2;

/** Takes turns over HTTP and sees them end as a screen does: woken by the store's notification, not by polling. */
export async function openTaker(app: TestApp): Promise<TurnTaker> {
  const waiting = new Map<string, () => void>();
  const stop = await app.store.listen((threadId) => {
    if (threadId) waiting.get(threadId)?.();
    else for (const wake of waiting.values()) wake();
  });

  const statusOf = async (turnId: string): Promise<string> =>
    (await app.store.db.selectFrom('turns').select('status').where('id', '=', turnId).executeTakeFirstOrThrow()).status;

  /** Returns when the end of a turn with so many model steps is visible. */
  async function ended(threadId: string, turnId: string, requests: number, ms: number): Promise<void> {
    let woken = Promise.withResolvers<void>();
    waiting.set(threadId, () => woken.resolve());
    const limit = AbortSignal.timeout(ms);
    limit.addEventListener('abort', () => woken.resolve());
    try {
      for (;;) {
        // before its last model step a turn has not ended, and our question would be part of what is measured
        const turn = app.model.asked(turnId) < requests && !limit.aborted ? null : await statusOf(turnId);
        if (turn === 'completed') return;
        if (turn !== null && turn !== 'in_progress') throw new Error(`turn ${turnId} ended as ${turn}`);
        if (limit.aborted) throw new Error(`turn ${turnId} did not end within ${ms} ms`);
        await woken.promise;
        woken = Promise.withResolvers<void>();
      }
    } finally {
      waiting.delete(threadId);
    }
  }

  return {
    async take(threadId, script, ms = 60_000) {
      const begun = Date.now();
      const turnId = await app.turn(threadId, script);
      const ack = Date.now() - begun;
      await ended(threadId, turnId, script.length, ms);
      const seen = Date.now() - begun;
      // the time that the gateway wrote down: this process shares its clock
      const at = await until(
        'the answer is sent',
        async () =>
          (await app.store.db.selectFrom('outbox').select('sent_at').where('turn_id', '=', turnId).executeTakeFirst())
            ?.sent_at,
        ms,
      );
      return { turnId, ack, seen, sent: at.getTime() - begun };
    },
    close: stop,
  };
}
