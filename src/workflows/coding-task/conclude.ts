import { getExternalWorkflowHandle } from '@temporalio/workflow';
import { workspaceFreeSignal } from '../../contracts/signals.ts';
import type { TaskState } from '../../contracts/task.ts';
import { onItsHost } from './host.ts';
import { send } from './messages.ts';
import { type End, show, type TaskRun } from './task-run.ts';

/** Ends the container, has the changes committed, reports, and wakes the tasks that wait for the workspace. */
export async function conclude(run: TaskRun, { state, reason, gone }: End): Promise<TaskState> {
  const { taskId } = run.input;
  const { step } = run.view;
  show(run, run.view.state, 'ends the container, commits, reports');
  // a task that never began has no container, and must end even when there is no engine
  if (step > 0 && !gone) await onItsHost(run, (host) => host.endStep({ taskId, step }));
  const concluded = await onItsHost(run, (host) => host.conclude({ taskId, state, reason }));
  run.over = true;
  show(run, concluded.state, reason);
  for (const waiting of concluded.waiting)
    await getExternalWorkflowHandle(waiting)
      .signal(workspaceFreeSignal)
      .catch(() => {});
  send(run, 'send report', concluded.outboxId);
  await run.outgoing.sending;
  return concluded.state;
}
