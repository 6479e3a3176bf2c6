import { answerWithin, decidedBySignalAlone, readDecision } from '../shared/await-answer.ts';
import { onItsHost } from './host.ts';
import { enter, send } from './messages.ts';
import { taskRecords } from './policies.ts';
import { type Asked, answered, questionOf } from './questions.ts';
import { isCancelled, type TaskRun } from './task-run.ts';

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
