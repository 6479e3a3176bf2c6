import { condition } from '@temporalio/workflow';
import type { CarriedWork, LimitedSoFar, ModelLimit } from '../../contracts/task.ts';
import { limitWaitMs } from '../../domain/model/limits.ts';
import { DAY, HOUR, MINUTE } from '../../domain/time.ts';
import { answerWithin, awaitAnswer, decidedBySignalAlone, readDecision } from '../shared/await-answer.ts';
import { onItsHost } from './host.ts';
import { enter, send } from './messages.ts';
import { unpaused } from './orders.ts';
import { taskRecords } from './policies.ts';
import { type Asked, answered, questionOf } from './questions.ts';
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
  `Its model stays at its limit until ${new Date(opensAt).toISOString()}, and a task waits for ${Math.round(limitedMs / DAY)} days at most.`;

/**
 * Asks the person about hosts that the agent's programs want. The container is frozen meanwhile, with the requests that
 * the gate holds; after `holdMs` it is ended. `goes on`: it works again. `resumes`: the session continues in a new
 * container.
 */
export async function askForHosts(
  run: TaskRun,
  step: number,
  asked: Asked,
): Promise<'goes on' | 'resumes' | 'cancelled'> {
  const { id: questionId, title } = asked;
  const { taskId, limits } = run.input;
  // frozen first: what it asks for until then is part of the question
  await onItsHost(run, (host) => host.setPaused({ taskId, step, paused: true }));
  const opened = await taskRecords.askForHosts(taskId, questionId, title);
  if (decidedBySignalAlone(run.decisions, questionId, opened.decided)) await readDecision(run.decisions, questionId);
  if (run.decisions[questionId] === undefined) {
    send(run, 'send question', opened.outboxId);
    await enter(run, 'waiting', `waits for an answer: ${title}`, title);
    const promises = answerWithin(
      questionOf(run, asked),
      limits.holdMs,
      `waiting for an answer: ${title} (its container is frozen)`,
    );
    let next = promises.next();
    while (!next.done) next = promises.next(await next.value);
    if (!next.value) {
      await onItsHost(run, (host) => host.endStep({ taskId, step, kills: true }));
      return (await answered(run, asked)) ? 'resumes' : 'cancelled';
    }
    if (isCancelled(run)) return 'cancelled';
  }
  await enter(run, 'running', 'goes on after the answer');
  await onItsHost(run, (host) => host.setPaused({ taskId, step, paused: false }));
  return 'goes on';
}

/**
 * Asks about the registries of a project before its agent begins; no container waits. False when the task is cancelled.
 */
export async function askForRegistries(run: TaskRun, asked: Asked): Promise<boolean> {
  const { id: questionId, title } = asked;
  const opened = await taskRecords.askForHosts(run.input.taskId, questionId, title);
  if (decidedBySignalAlone(run.decisions, questionId, opened.decided)) await readDecision(run.decisions, questionId);
  if (run.decisions[questionId] !== undefined) return !isCancelled(run);
  send(run, 'send question', opened.outboxId);
  await enter(run, 'waiting', `waits for an answer: ${title}`, title);
  return await answered(run, asked);
}

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
