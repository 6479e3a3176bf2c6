import { z } from 'zod';
import { moneyText } from '../../domain/model/price-book.ts';
import { shownHost } from '../../domain/tasks/egress.ts';
import { duration, saysMore } from '../../domain/tasks/report.ts';
import { refusalsOf } from '../../store/kennel/egress.ts';
import { openQuestionOfTask } from '../../store/kennel/questions/task-questions.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { usageOf } from '../../store/kennel/tasks/usage.ts';
import { defineTool, type ToolContext } from '../tool.ts';
import { onTask, optionalTaskId, taskTool } from './task-of-chat.ts';
import { secondsOf, shortGoal, taskView } from './view.ts';

export const taskStatus = defineTool({
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
