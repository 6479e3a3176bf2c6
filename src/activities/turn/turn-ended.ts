import type { Logger } from 'pino';
import type { FinishInput } from '../../contracts/conversation.ts';
import { traceOf } from '../../store/home/operations.ts';
import type { Db } from '../../store/postgres/database.ts';
import { endedTurn } from '../../store/turns/finish.ts';
import { turnsEnded } from '../../telemetry/metrics.ts';
import { addSpan, isTracing } from '../../telemetry/tracing.ts';

/**
 * Counts a turn that has ended, adds it to its trace, and writes one log line. Nobody waits for these two, and when the
 * store is away they are lost.
 */
export function turnEnded(
  { db, log }: { db: Db; log?: Logger | undefined },
  turnId: string,
  outcome: 'completed' | FinishInput['status'],
  why?: string,
): void {
  turnsEnded.add({ outcome });
  if (!log?.isLevelEnabled('info') && !isTracing()) return;
  void tell(db, log, turnId, why).catch(() => {});
}

async function tell(db: Db, log: Logger | undefined, turnId: string, why: string | undefined): Promise<void> {
  const turn = await endedTurn(db, turnId);
  if (!turn) return;
  const { status, began, ended, ...figures } = turn;
  log?.info({ ...figures, ...(why && { why }) }, `turn ${status}`);
  if (!isTracing()) return;
  const attributes = {
    'fetch.turn_id': turnId,
    'fetch.channel': figures.channel,
    'fetch.outcome': status,
    'fetch.steps': figures.steps,
    'fetch.calls': figures.calls,
  };
  // the activity that ended the turn is only a part of it
  addSpan('turn', { kind: 'internal', parent: await traceOf(db, { turnId }), attributes, began, ended });
}
