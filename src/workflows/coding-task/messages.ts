import { log } from '@temporalio/workflow';
import type { TaskState } from '../../contracts/task.ts';
import { failureOf } from '../shared/failure-of.ts';
import { deliverOn } from '../shared/policies.ts';
import { taskRecords } from './policies.ts';
import { show, type TaskRun } from './task-run.ts';

/** Sends in order, without blocking the task: an absent channel must not keep an answer from its task. */
export function send({ input, outgoing }: TaskRun, summary: string, outboxId: string): void {
  outgoing.unsent.set(outboxId, { summary, outboxId });
  outgoing.sending = outgoing.sending
    .then(() => deliverOn(input.channel, summary, { outboxId }))
    .catch((error) => log.error('a message could not be sent', { outboxId, error: failureOf(error).message }));
  // beside the chain, not in it: one more link would change the order of commands in recorded runs
  void outgoing.sending.then(() => outgoing.unsent.delete(outboxId));
}

/** Tells the person something, once for each `key`. */
export async function tell(run: TaskRun, key: string, text: string): Promise<void> {
  const outboxId = await taskRecords.tell(run.input.taskId, key, text);
  send(run, 'send notice', outboxId);
}

/** Shows a state and stores it. */
export async function enter(
  run: TaskRun,
  state: TaskState,
  doing: string,
  waitingFor: string | null = null,
): Promise<void> {
  show(run, state, doing, waitingFor);
  await taskRecords.setState(run.input.taskId, state, doing);
}
