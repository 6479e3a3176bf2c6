import { z } from 'zod';
import type { TaskState } from '../../contracts/task.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { cut } from '../../domain/text/storable.ts';
import { reachOf } from '../../store/chats/shares.ts';
import { isOver, type Task, tasksOfChat } from '../../store/kennel/tasks/tasks.ts';
import { usageOf } from '../../store/kennel/tasks/usage.ts';
import { toldInPrompt } from '../declarations.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';

/** What every task tool needs: to find the task that is meant, and to run with it. */

export const taskTool = { effect: 'idempotent', runsIn: 'worker', timeoutMs: 60_000 } as const;

export const taskId = z.string().trim().min(1).max(60).describe('tsk_…');
export const optionalTaskId = taskId.optional().meta(toldInPrompt('The current task when left out'));

/**
 * Runs `act` with the task that is meant: the one with this id in this chat. Without an id it is the newest that is not
 * over, else the newest.
 */
export async function onTask(
  context: ToolContext,
  id: string | undefined,
  act: (task: Task) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const found = await findTaskOfChat(context, id);
  return 'problem' in found ? { ok: false, output: found.problem } : await act(found.task);
}

/** The same for what can only be done to a task that is not over. */
export const onLiveTask = (
  context: ToolContext,
  id: string | undefined,
  act: (task: Task) => Promise<ToolOutcome>,
): Promise<ToolOutcome> =>
  onTask(context, id, async (task) =>
    isOver(task.state) ? { ok: false, output: `Task ${task.id} is over already (${task.state}).` } : await act(task),
  );

async function findTaskOfChat(
  { db, chatId, turnId }: ToolContext,
  id: string | undefined,
): Promise<{ task: Task } | { problem: string }> {
  const reach = await reachOf(db, { chatId, turnId });
  const tasks = (await tasksOfChat(db, chatId, { limit: 200 })).filter(
    ({ workspace }) => reach === null || reach.has(workspace),
  );
  const task =
    id === undefined ? (tasks.find((each) => !isOver(each.state)) ?? tasks[0]) : tasks.find((each) => each.id === id);
  if (task) return { task };
  if (id === undefined) return { problem: 'There are no tasks in this chat.' };
  return {
    problem: `There is no task ${id} in this chat.${suggestion(
      id,
      tasks.map((each) => each.id),
    )}`,
  };
}

/** The contract's names of the states. */
const statusOf: Record<TaskState, string> = {
  queued: 'pending',
  running: 'running',
  waiting: 'waiting_input',
  paused: 'paused',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** A task as a program reads it. */
export async function taskView({ db }: Pick<ToolContext, 'db'>, task: Task): Promise<Record<string, unknown>> {
  return {
    id: task.id,
    goal: task.goal,
    agent: task.harness,
    workspace: task.workspace,
    host: task.host,
    status: statusOf[task.state],
    step: task.step,
    timeout: Number(task.timeout_ms),
    createdAt: task.created_at.toISOString(),
    startedAt: task.started_at?.toISOString() ?? null,
    completedAt: task.ended_at?.toISOString() ?? null,
    plan: task.plan && { text: task.plan.text, files: task.plan.files, agreed: !task.planning },
    lastProgress: task.last,
    reason: task.reason,
    usage: await usageOf(db, task.id),
    result: task.result,
  };
}

/** A goal on one line. */
export const shortGoal = (goal: string): string => cut(goal.replace(/\s+/g, ' ').trim(), 80);

export const secondsOf = (task: Task): number =>
  Math.round(((task.ended_at ?? new Date()).getTime() - (task.started_at ?? task.created_at).getTime()) / 1000);
