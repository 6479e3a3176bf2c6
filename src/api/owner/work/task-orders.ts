import { isOver } from '../../../store/kennel/tasks/tasks.ts';
import { replyTo } from '../../../store/turns/replies.ts';
import { ApiError } from '../../errors/errors.ts';
import { requestKey } from '../../http/request.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
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
      const said = await deps.intake.say({
        threadId: task.thread_id,
        text: WORDS[name](id),
        channelMessageId: requestKey(ctx, `task ${id} ${name}`, null),
      });
      return {
        kind: said.kind,
        turn_id: said.turnId,
        reply: said.kind === 'reply' ? await replyTo(deps.store.db, said.inboxId) : null,
      };
    },
  }),
);
