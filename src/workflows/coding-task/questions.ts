import type { BudgetStop, TaskInput } from '../../contracts/task.ts';
import {
  answerWithin,
  awaitAnswer,
  awaitBudget,
  decidedBySignalAlone,
  type Question,
  readDecision,
} from '../shared/await-answer.ts';
import { onItsHost } from './host.ts';
import { enter, send } from './messages.ts';
import { taskRecords } from './policies.ts';
import { isCancelled, show, type TaskRun } from './task-run.ts';

/** A question of the agent, as `follow` found it. */
export interface Asked {
  id: string;
  title: string;
}

export const questionOf = (run: TaskRun, { id }: Asked): Question => ({
  id,
  decisions: run.decisions,
  isOver: () => isCancelled(run),
});

/**
 * Asks the person and passes the decision on. A question that is held too long stays open without its container. False
 * when cancelled.
 */
export async function ask(run: TaskRun, step: number, asked: Asked): Promise<boolean> {
  const { id: questionId, title } = asked;
  const { taskId, limits } = run.input;
  const opened = await taskRecords.ask(taskId, questionId, title);
  if (decidedBySignalAlone(run.decisions, questionId, opened.decided)) await readDecision(run.decisions, questionId);
  if (run.decisions[questionId] === undefined) {
    send(run, 'send question', opened.outboxId);
    await enter(run, 'waiting', `waits for an answer: ${title}`, title);
    const promises = answerWithin(
      questionOf(run, asked),
      limits.holdMs,
      `waiting for an answer: ${title} (keeps its container)`,
    );
    let next = promises.next();
    while (!next.done) next = promises.next(await next.value);
    if (!next.value) return true;
    if (isCancelled(run)) return false;
  }
  await enter(run, 'running', 'goes on after the answer');
  await onItsHost(run, (host) => host.passOn({ taskId, step, questionId }));
  return true;
}

/**
 * Waits, for days if needed, for the answer to a question whose container is gone. Reminds once; the policy decides how
 * it expires. False when cancelled.
 */
export async function answered(run: TaskRun, asked: Asked): Promise<boolean> {
  const { waits, limits } = run.input;
  const { id, title } = asked;
  if (run.decisions[id] === undefined && !isCancelled(run))
    show(run, 'waiting', `waits for an answer: ${title} (its container is ended)`, title);
  const promises = awaitAnswer(questionOf(run, asked), {
    what: 'an answer',
    waits,
    remindInMs: Math.max(waits.remindAfterMs - limits.holdMs, 1),
    remind: () => taskRecords.remind(id),
    send: (outboxId) => send(run, 'send reminder', outboxId),
    expire: () => taskRecords.expire(id),
    unanswered: 'answered',
  });
  let next = promises.next();
  while (!next.done) next = promises.next(await next.value);
  if (!isCancelled(run)) await enter(run, 'running', 'goes on after the answer');
  return !isCancelled(run);
}

/** Waits for the answer at a budget. False when cancelled. What was allowed is found when the next run begins. */
export async function untilMayGoOn(
  run: TaskRun,
  { questionId: id, opensAt }: NonNullable<BudgetStop['asks']>,
): Promise<boolean> {
  const title = 'may more be spent?';
  await enter(run, 'waiting', `waits for an answer: ${title}`, title);
  const promises = awaitBudget(questionOf(run, { id, title }), opensAt, {
    waits: run.input.waits,
    remind: () => taskRecords.remind(id),
    send: (outboxId) => send(run, 'send reminder', outboxId),
    expire: () => taskRecords.expire(id),
  });
  let next = promises.next();
  while (!next.done) next = promises.next(await next.value);
  if (!isCancelled(run)) await enter(run, 'running', 'goes on after the answer');
  return !isCancelled(run);
}

/**
 * Continues a task whose workflow was lost while it waited, as if its session had been parked. Returns the run with the
 * answer; null when cancelled.
 */
export async function afterAnswer(
  run: TaskRun,
  { questionId, title, decided }: NonNullable<TaskInput['parked']>,
): Promise<number | null> {
  const { taskId, firstStep: step = 1 } = run.input;
  run.view.step = step;
  if (decided) run.decisions[questionId] ??= decided;
  await onItsHost(run, (host) => host.endStep({ taskId, step }));
  return (await answered(run, { id: questionId, title })) ? step + 1 : null;
}
