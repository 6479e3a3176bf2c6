import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { z } from 'zod';
import { cancelUpdate, pauseUpdate, resumeUpdate } from '../../contracts/signals.ts';
import { duration } from '../../domain/tasks/report.ts';
import { findTask, isOver, markOrdered, type Task } from '../../store/kennel/tasks/tasks.ts';
import { defineTool, namedTask, type ToolContext, type ToolOutcome } from '../tool.ts';
import { onLiveTask, optionalTaskId, secondsOf, taskId, taskTool } from './task-of-chat.ts';

export const taskCancel = defineTool({
  ...taskTool,
  name: 'task_cancel',
  family: 'tasks',
  reads: [],
  sends: [],
  description: 'Cancel a coding task. What it did is kept on a branch.',
  danger: 'MODERATE',
  schema: z.strictObject({ taskId }),
  inQuestion: ['taskId'],
  asks: (args, _, say) => say('ask.cancelTask', { task: namedTask(args.taskId, say) }),
  run: (args, context) =>
    onLiveTask(context, args.taskId, async (task) => {
      const ran = duration(secondsOf(task));
      const ended = await order(context, task, cancelUpdate);
      if (!ended.ok) return ended;
      const how = task.started_at ? `was running ${ran}); terminated active process` : 'had not begun)';
      return {
        ok: true,
        output: ended.output || `Cancelled task ${task.id} (${how}`,
        metadata: { taskId: task.id, wasRunning: task.started_at !== null },
      };
    }),
});

export const taskPause = defineTool({
  ...taskTool,
  name: 'task_pause',
  family: 'tasks',
  reads: [],
  sends: [],
  description: 'Pause a coding task; with resume, let a paused one go on.',
  danger: 'MODERATE',
  schema: z.strictObject({ taskId: optionalTaskId, resume: z.boolean().default(false) }),
  inQuestion: ['taskId', 'resume'],
  asks: ({ taskId: id, resume }, _, say) =>
    say(resume ? 'ask.resumeTask' : 'ask.pauseTask', { task: namedTask(id, say) }),
  run: ({ taskId: id, resume }, context) =>
    resume ? hold(context, id, resumeUpdate, 'Resumed') : hold(context, id, pauseUpdate, 'Paused'),
});

const hold = (context: ToolContext, id: string | undefined, update: Order, word: string): Promise<ToolOutcome> =>
  onLiveTask(context, id, async (task) => {
    const done = await order(context, task, update);
    return done.ok
      ? { ok: true, output: done.output || `${word} task ${task.id}.`, metadata: { taskId: task.id } }
      : done;
  });

type Order = typeof cancelUpdate | typeof pauseUpdate | typeof resumeUpdate;

/**
 * Gives a task an order and waits until it is carried out. The order is stored on the row first, so that a task whose
 * workflow has not started finds it.
 */
async function order({ db, temporal, callId, signal }: ToolContext, task: Task, update: Order): Promise<ToolOutcome> {
  await markOrdered(db, task.id, update);
  try {
    await temporal.withAbortSignal(signal, () =>
      temporal.workflow.getHandle(task.workflow_id).executeUpdate(update, { updateId: `${callId}_${update}` }),
    );
    return { ok: true, output: '' };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError)) throw error;
    const now = await findTask(db, task.id);
    if (!now || isOver(now.state))
      return { ok: false, output: `Task ${task.id} has just ended. Look with task_status.` };
    return {
      ok: true,
      output: `Task ${task.id} is only just being started: the order (${update}) is noted, and carried out when it begins.`,
    };
  }
}
