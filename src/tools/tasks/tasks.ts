import { WorkflowNotFoundError } from '@temporalio/client';
import { z } from 'zod';
import { decidedSignal } from '../../contracts/signals.ts';
import { chooseOption, parseApproval } from '../../domain/chat/words/commands.ts';
import { moneyText } from '../../domain/model/price-book.ts';
import { shownHost } from '../../domain/tasks/egress.ts';
import { duration, saysMore } from '../../domain/tasks/report.ts';
import { english } from '../../domain/texts/say.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { onThread } from '../../store/chats/thread-transaction.ts';
import { refusalsOf } from '../../store/kennel/egress.ts';
import { isAboutHosts } from '../../store/kennel/questions/egress-questions.ts';
import { latestQuestionOfTask, openQuestionOfTask } from '../../store/kennel/questions/task-questions.ts';
import { heardWhen, tellTask } from '../../store/kennel/tasks/task-words.ts';
import { isLimited, type Task, tasksOfChat } from '../../store/kennel/tasks/tasks.ts';
import { usageOf } from '../../store/kennel/tasks/usage.ts';
import { answerQuestion } from '../../store/turns/questions/decide.ts';
import { openQuestion } from '../../store/turns/questions/questions.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { taskBring } from './bring.ts';
import { taskCreate } from './create.ts';
import { sessionGive } from './give.ts';
import { taskCancel, taskPause } from './orders.ts';
import { sessionTake } from './take.ts';
import { onTask, optionalTaskId, secondsOf, shortGoal, taskId, taskTool, taskView } from './task-of-chat.ts';

const taskStatus = defineTool({
  ...taskTool,
  name: 'task_status',
  family: 'core',
  reads: ['report'],
  sends: [],
  description: 'Show what a coding task does, waits for and has used, or how it ended. Its end is reported by itself.',
  danger: 'SAFE',
  onStore: 'reads',
  schema: z.strictObject({ taskId: optionalTaskId }),
  run: (args, context) =>
    onTask(context, args.taskId, async (task) => ({
      ok: true,
      output: await statusText(context, task),
      ...(task.result?.own && { ours: true as const }),
      metadata: { task: await taskView(context, task) },
    })),
});

const WAITS_FOR = {
  approval: 'consent',
  question: 'an answer',
  plan: 'a yes of the person to its plan, or words that change it',
};

async function statusText({ db }: ToolContext, task: Task): Promise<string> {
  const spent = await usageOf(db, task.id);
  const lines = [
    `Task ${task.id} ${task.state} (${duration(secondsOf(task))}) — '${shortGoal(task.goal)}'. ${task.last ? `Last: ${task.last}` : ''}`.trim(),
  ];
  lines.push(
    `${task.harness} in ${task.workspace} on ${task.host}; ${spent.inputTokens + spent.outputTokens} tokens, ${moneyText(spent)} so far.`,
  );
  if (task.state === 'waiting') {
    const open = await openQuestionOfTask(db, task.id);
    if (open) lines.push(`It waits for ${WAITS_FOR[open.kind]}: ${open.prompt}`);
  }
  if (task.plan)
    lines.push(
      `${task.planning ? 'Its plan, which nobody has agreed to yet' : 'The plan that was agreed to'}:\n${task.plan.text}`,
    );
  if (task.reason && saysMore({ state: task.state, reason: task.reason })) lines.push(task.reason);
  const refused = await refusalsOf(db, task.id, 5);
  if (refused.length > 0)
    lines.push(
      `Refused on the network: ${refused.map((row) => `${shownHost(row)} (${row.refused}x)`).join(', ')}. The person sees and changes this with "egress".`,
    );
  if (task.result?.said) lines.push(task.result.said);
  return lines.join('\n');
}

const taskRespond = defineTool({
  ...taskTool,
  name: 'task_respond',
  family: 'tasks',
  reads: [],
  sends: ['task'],
  sent: (args) => ({ texts: [args.response] }),
  description:
    'Pass the person’s words on to a coding task: the answer to its question, or something to mind, which its agent hears as its next prompt. Consent to what it wants to do cannot be given with this.',
  danger: 'SAFE',
  schema: z.strictObject({
    response: z.string().trim().min(1).max(5_000),
    taskId: taskId.optional().describe('The waiting task, or the only one at work, when left out'),
  }),
  asks: (_, __, say) => say('ask.tell'),
  run: async (args, context) => {
    if (args.taskId) return await onTask(context, args.taskId, (task) => respond(context, task, args.response));
    const live = await liveTasks(context);
    const waiting = live.find((task) => task.state === 'waiting' && !isLimited(task));
    const task = waiting ?? (live.length === 1 ? live[0] : undefined);
    if (task) return await respond(context, task, args.response);
    const problem = 'No task of this chat waits for an answer.';
    return { ok: false, output: live.length === 0 ? problem : `${problem} Say which one of: ${idsOf(live)}.` };
  },
});

const idsOf = (tasks: readonly Task[]): string => tasks.map(({ id }) => id).join(', ');

async function liveTasks(context: ToolContext): Promise<Task[]> {
  const reach = await reachOf(context.db, context);
  const live = await tasksOfChat(context.db, context.chatId, { live: true, limit: 50 });
  return live.filter(({ workspace }) => reach === null || reach.has(workspace));
}

async function respond(context: ToolContext, task: Task, response: string): Promise<ToolOutcome> {
  const { db, temporal } = context;
  const asked = await latestQuestionOfTask(db, task.id);
  // the same answer once more: a first attempt may have died before its signal
  if (!asked || (asked.state !== 'open' && asked.answer !== response)) return await tell(context, task, response);
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

/** What answers no question is the next prompt of the agent. */
async function tell({ db, callId }: ToolContext, task: Task, text: string): Promise<ToolOutcome> {
  if (!(await tellTask(db, { id: `say_${callId}`, taskId: task.id, text })))
    return { ok: false, output: `Task ${task.id} is over already (${task.state}).` };
  return {
    ok: true,
    output: `Said to task ${task.id}: its agent hears it ${english(`hears.${heardWhen(task)}`)}.`,
    metadata: { taskId: task.id },
  };
}

/** The `task_*` tools of the contract: jobs that a coding agent does in a container, for minutes or hours. */
export const taskTools: Tool[] = [
  taskCreate,
  taskStatus,
  taskCancel,
  taskPause,
  taskRespond,
  taskBring,
  sessionTake,
  sessionGive,
];
