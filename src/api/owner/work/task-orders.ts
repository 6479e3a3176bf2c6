import { z } from 'zod';
import { storableText } from '../../../domain/text/storable.ts';
import { WORDS_CHARS } from '../../../store/kennel/tasks/task-words.ts';
import { isOver } from '../../../store/kennel/tasks/tasks.ts';
import { replyTo } from '../../../store/turns/replies.ts';
import { ApiError } from '../../errors/errors.ts';
import { requestKey } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../../runtime/shared/endpoint.ts';
import { orderedFields } from './task-schemas.ts';
import { existingTask, ORDERS, type Order } from './tasks.ts';

/** The words by which a chat gives the order. With a slash they answer no open question. */
const WORDS: Record<Order, (id: string) => string> = {
  stop: (id) => `stop ${id}`,
  pause: (id) => `pause ${id}`,
  resume: (id) => `resume ${id}`,
  undo: (id) => `/undo ${id}`,
  redo: () => '/redo',
};

const SUMMARY: Record<Order, string> = {
  stop: 'End a coding task',
  pause: 'Freeze a coding task',
  resume: 'Let a coding task go on',
  undo: 'Take back what a coding task changed',
  redo: "Take back the last undo in the task's chat",
};

/** Says something to a coding task, as `tell` does in its chat. */
export const tellTask = endpoint({
  method: 'POST',
  path: '/v1/owner/tasks/{id}/tell',
  summary: 'Tell a coding task something, which its agent receives as its next prompt',
  body: z
    .object({ text: z.string().trim().min(1).max(WORDS_CHARS) })
    .meta({ id: 'TellRequest', examples: [{ text: 'Use npm, not yarn' }] }),
  answer: { status: 202, schema: orderedFields, what: 'What the words became.' },
  refusals: { 404: 'There is no such task.', 409: 'The task is over.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    const task = await existingTask(id, deps);
    if (isOver(task.state)) throw new ApiError(409, `Task ${id} is over: ${task.state}`);
    const channelMessageId = requestKey(ctx, `task ${id} tell`, body);
    return await say(deps, {
      threadId: task.thread_id,
      text: `tell ${id}: ${storableText(body.text)}`,
      channelMessageId,
    });
  },
});

/** Each says the words in the chat of the task, so it is the same order with the same rules. */
export const taskOrders = ORDERS.map((name) =>
  endpoint({
    method: 'POST',
    path: `/v1/owner/tasks/{id}/${name}`,
    summary: SUMMARY[name],
    answer: { status: 202, schema: orderedFields, what: 'What the words became.' },
    refusals: { 404: 'There is no such task.', 409: 'The task is over, or has not ended yet.' },
    handle: async ({ ctx, params: { id } }, deps) => {
      const task = await existingTask(id, deps);
      const about = name === 'undo' || name === 'redo';
      if (isOver(task.state) !== about)
        throw new ApiError(
          409,
          about ? `Task ${id} has not ended: stop it first` : `Task ${id} is over: ${task.state}`,
        );
      const channelMessageId = requestKey(ctx, `task ${id} ${name}`, null);
      return await say(deps, { threadId: task.thread_id, text: WORDS[name](id), channelMessageId });
    },
  }),
);

async function say({ intake, store }: RuntimeDeps, message: Parameters<RuntimeDeps['intake']['say']>[0]) {
  const said = await intake.say(message);
  return {
    kind: said.kind,
    turn_id: said.turnId,
    reply: said.kind === 'reply' ? await replyTo(store.db, said.inboxId) : null,
  };
}
