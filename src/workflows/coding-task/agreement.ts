import type { AgreementAsked } from '../../contracts/task.ts';
import { awaitAnswer } from '../shared/await-answer.ts';
import { enter, send } from './messages.ts';
import { taskRecords } from './policies.ts';
import { isCancelled, type TaskRun } from './task-run.ts';

/**
 * Waits, for days if needed, until a person has said whether the repository may bring its own environment. No container
 * runs meanwhile. False when cancelled.
 */
export async function untilAgreedTo(
  run: TaskRun,
  { questionId: id, outboxId, title }: AgreementAsked,
): Promise<boolean> {
  const { waits } = run.input;
  send(run, 'send question', outboxId);
  await enter(run, 'waiting', `waits for an answer: ${title}`, title);
  const promises = awaitAnswer(
    { id, decisions: run.decisions, isOver: () => isCancelled(run) },
    {
      what: 'an answer',
      waits,
      remindInMs: waits.remindAfterMs,
      remind: () => taskRecords.remind(id),
      send: (reminder) => send(run, 'send reminder', reminder),
      expire: () => taskRecords.expire(id),
      unanswered: 'deny',
    },
  );
  let next = promises.next();
  while (!next.done) next = promises.next(await next.value);
  if (isCancelled(run)) return false;
  await enter(run, 'running', 'goes on after the answer');
  return true;
}
