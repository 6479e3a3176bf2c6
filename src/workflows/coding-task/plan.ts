import type { CarriedWork } from '../../contracts/task.ts';
import { awaitAnswer, decidedBySignalAlone, readDecision } from '../shared/await-answer.ts';
import { onItsHost } from './host.ts';
import { enter, send } from './messages.ts';
import { taskRecords } from './policies.ts';
import { CANCELLED, type End, isCancelled, show, type TaskRun } from './task-run.ts';

const WAITS = 'waits for a yes to its plan';

/**
 * Asks for a yes to the plan that a run has handed in, and waits for it, for days if needed, without a container. Other
 * words than a yes or a no change the plan: the next run can only read, too. Returns how the task ends, or null when
 * another run follows.
 */
export async function untilAgreed(run: TaskRun, at: CarriedWork): Promise<End | null> {
  const { taskId, waits } = run.input;
  const { step } = at;
  run.view.step = step;
  await onItsHost(run, (host) => host.endStep({ taskId, step }));
  const asked = await taskRecords.askForPlan(taskId, step);
  if (!asked)
    return {
      state: 'failed',
      reason: `${run.harness} ended without a plan: it said nothing. Nothing was changed. Start the task again, or say "plan off" first.`,
    };
  const { questionId: id } = asked;
  if (decidedBySignalAlone(run.decisions, id, asked.decided)) await readDecision(run.decisions, id);
  let expired = asked.expired === true;
  if (run.decisions[id] === undefined && !isCancelled(run)) {
    send(run, 'send plan', asked.outboxId);
    show(run, 'waiting', WAITS, 'a yes to its plan', 'plan');
    await taskRecords.setState(taskId, 'waiting', WAITS);
    const promises = awaitAnswer(
      { id, decisions: run.decisions, isOver: () => isCancelled(run) },
      {
        what: 'a yes to its plan',
        waits,
        remindInMs: waits.remindAfterMs,
        remind: () => taskRecords.remind(id),
        send: (outboxId) => send(run, 'send reminder', outboxId),
        expire: async () => {
          expired = await taskRecords.expire(id);
          return expired;
        },
        unanswered: 'deny',
      },
    );
    let next = promises.next();
    while (!next.done) next = promises.next(await next.value);
  }
  if (isCancelled(run)) return CANCELLED;
  return await goOn(run, at, { decision: run.decisions[id], expired });
}

async function goOn(
  run: TaskRun,
  at: CarriedWork,
  { decision, expired }: { decision: string | undefined; expired: boolean },
): Promise<End | null> {
  if (decision === 'answered') {
    at.step += 1;
    await enter(run, 'running', 'changes its plan');
    return null;
  }
  if (decision !== 'allow')
    return {
      state: 'cancelled',
      reason: `${expired ? 'Nobody answered its plan in time' : 'You said no to its plan'}, so nothing was changed.`,
    };
  delete at.plans;
  // the checkpoint is made before the first run that can write: what the person has edited meanwhile is theirs
  at.first = at.step + 1;
  at.step = at.first;
  await enter(run, 'running', 'begins the work that was agreed to');
  return null;
}
