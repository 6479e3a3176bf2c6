import type { TaskState } from '../../contracts/task.ts';
import { cut } from '../../domain/text/storable.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { usageOf } from '../../store/kennel/tasks/usage.ts';
import type { ToolContext } from '../tool.ts';

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
