import { WorkflowNotFoundError } from '@temporalio/client';
import { z } from 'zod';
import { decidedSignal } from '../../contracts/signals.ts';
import { chooseOption, parseApproval } from '../../domain/chat/words/commands.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { onThread } from '../../store/chats/thread-transaction.ts';
import { isAboutHosts } from '../../store/kennel/questions/egress-questions.ts';
import { latestQuestionOfTask } from '../../store/kennel/questions/task-questions.ts';
import { isLimited, type Task, tasksOfChat } from '../../store/kennel/tasks/tasks.ts';
import { answerQuestion } from '../../store/turns/questions/decide.ts';
import { openQuestion } from '../../store/turns/questions/questions.ts';
import { defineTool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { onTask, taskId, taskTool } from './task-of-chat.ts';

export const taskRespond = defineTool({
  ...taskTool,
  name: 'task_respond',
  family: 'tasks',
  reads: [],
  sends: ['task'],
  sent: (args) => ({ texts: [args.response] }),
  description:
    'Pass the person’s answer on to a coding task that has asked a question. Consent to what it wants to do cannot be given with this.',
  danger: 'SAFE',
  schema: z.strictObject({
    response: z.string().trim().min(1).max(5_000),
    taskId: taskId.optional().describe('The waiting task when left out'),
  }),
  asks: () => 'Answer the coding task with this?',
  run: async (args, context) => {
    if (args.taskId) return await onTask(context, args.taskId, (task) => respond(context, task, args.response));
    const task = await waitingTask(context);
    return task
      ? await respond(context, task, args.response)
      : { ok: false, output: 'No task of this chat waits for an answer.' };
  },
});

async function waitingTask(context: ToolContext): Promise<Task | undefined> {
  const reach = await reachOf(context.db, context);
  const live = await tasksOfChat(context.db, context.chatId, { live: true, limit: 50 });
  return live.find(
    (task) => task.state === 'waiting' && !isLimited(task) && (reach === null || reach.has(task.workspace)),
  );
}

async function respond({ db, temporal }: ToolContext, task: Task, response: string): Promise<ToolOutcome> {
  const asked = await latestQuestionOfTask(db, task.id);
  if (!asked) return { ok: false, output: `Task ${task.id} has not asked anything.` };
  if (isAboutHosts(asked))
    return {
      ok: false,
      output: `Task ${task.id} wants to reach hosts, and only the person can allow that: they answer the question itself.`,
    };
  if (asked.kind === 'approval')
    return {
      ok: false,
      output: `Task ${task.id} wants consent, and only the person can give it: they answer yes or no to the question itself.`,
    };
  if (asked.kind === 'plan' && parseApproval(response))
    return {
      ok: false,
      output: `The plan of task ${task.id} waits for a yes, and only the person can give it: they answer its message themselves.`,
    };
  const answered = await onThread(db, task.thread_id, async (tx) => {
    const question = await openQuestion(tx.now, task.thread_id, asked.id);
    if (question) await answerQuestion(tx, question, chooseOption(question.options, response), { role: 'agent' });
    return question !== undefined;
  });
  // also when it was already answered: a first attempt may have died between the answer and its signal
  await temporal.workflow
    .getHandle(task.workflow_id)
    .signal(decidedSignal, { questionId: asked.id, decision: 'answered' })
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  if (!answered && asked.answer !== response)
    return { ok: false, output: `The question of task ${task.id} is settled already.` };
  return { ok: true, output: `Sent response to task ${task.id}, resuming execution`, metadata: { taskId: task.id } };
}
