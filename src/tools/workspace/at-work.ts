import { tasksIn } from '../../store/kennel/workspaces/workspaces.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';

/** Why files and branches cannot change while a task works with them. */
export async function atWork({ db }: ToolContext, at: { host: string; name: string }): Promise<ToolOutcome | null> {
  const task = (await tasksIn(db, at)).find((each) => !each.worktree && each.state !== 'queued');
  return task
    ? {
        ok: false,
        output: `The task ${task.id} is working in ${at.name}. Wait for its end, or cancel it first.`,
        ours: true,
        metadata: { taskId: task.id },
      }
    : null;
}
