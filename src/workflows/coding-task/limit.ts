import { condition } from '@temporalio/workflow';
import type { CarriedWork, LimitedSoFar, ModelLimit } from '../../contracts/task.ts';
import { limitWaitMs } from '../../domain/model/limits.ts';
import { DAY, HOUR, MINUTE } from '../../domain/time.ts';
import { send } from './messages.ts';
import { unpaused } from './orders.ts';
import { taskRecords } from './policies.ts';
import { CANCELLED, type End, isCancelled, isPaused, show, type TaskRun } from './task-run.ts';

/** For runs whose input does not say it: a weekly limit and a day more. */
const LONGEST_MS = 8 * DAY;
/** Nobody needs to know of a shorter wait. */
const SHORT_MS = 10_000;
/** A person is told again when a wait became this much longer. */
const LONGER_MS = HOUR;
/** Work this long shows that a limit was really over. */
const WORKED_MS = 5 * MINUTE;
const FRESH: LimitedSoFar = { waitedMs: 0, inVain: 0, toldUntil: null };

/**
 * Waits, for days if needed, until the model takes requests again. No container runs meanwhile: the next one goes on
 * with the session. Returns how the task ends, or null when it goes on.
 */
export async function untilOpen(run: TaskRun, at: CarriedWork, limit: ModelLimit): Promise<End | null> {
  const { taskId, limits } = run.input;
  const before =
    run.workedSinceLimitMs > WORKED_MS ? { ...FRESH, waitedMs: at.limited?.waitedMs ?? 0 } : (at.limited ?? FRESH);
  const from = Date.now();
  const opensAt = Math.max(limit.opensAt, from + limitWaitMs(limit.kind, null, before.inVain));
  const waitedMs = before.waitedMs + opensAt - from;
  if (waitedMs > (limits.limitedMs ?? LONGEST_MS))
    return { state: 'failed', reason: tooLong(limits.limitedMs ?? LONGEST_MS, opensAt) };
  const tell = waitedMs > SHORT_MS && (before.toldUntil === null || opensAt - before.toldUntil > LONGER_MS);
  at.limited = { waitedMs, inVain: before.inVain + 1, toldUntil: tell ? opensAt : before.toldUntil };
  run.orders.goOn = false;
  const isOver = () => run.orders.goOn || isCancelled(run);
  for (let telling = tell; !isOver() && Date.now() < opensAt; telling = false) {
    const until = new Date(opensAt).toISOString();
    show(
      run,
      'waiting',
      `waits until ${until} for the limit of ${run.harness}`,
      `the limit of ${run.harness}, until ${until}`,
      'limit',
    );
    const outboxId = await taskRecords.limit({
      taskId,
      key: `limit${at.step}`,
      limit: { ...limit, opensAt },
      tell: telling,
    });
    if (outboxId) send(run, 'send notice', outboxId);
    await condition(() => isOver() || isPaused(run), Math.max(opensAt - Date.now(), 1), {
      summary: `waits for the limit of ${run.harness}`,
    });
    if (!isPaused(run)) continue;
    if (!(await unpaused(run, null))) return CANCELLED;
    // the end of a pause is no word about the limit
    run.orders.goOn = false;
  }
  run.workedSinceLimitMs = 0;
  // who asked for it is told what came of it
  if (run.orders.goOn) at.limited.toldUntil = null;
  return isCancelled(run) ? CANCELLED : null;
}

const tooLong = (limitedMs: number, opensAt: number): string =>
  `Its model stays at its limit until ${new Date(opensAt).toISOString()}, and tasks wait for ${Math.round(limitedMs / DAY)} days at most (FETCH_TASK_WAIT_DAYS).`;
