import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  type ChildWorkflowHandle,
  ParentClosePolicy,
  startChild,
  type Workflow,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import { AGENT_QUEUE, taskWorkflowId } from '../../contracts/ids.ts';
import { CODING_TASK } from '../../contracts/signals.ts';
import type { TaskInput } from '../../contracts/task.ts';
import { taskPage } from '../../domain/tasks/page.ts';

/**
 * Starts a coding task as a child that outlives its parent. A task that already runs is left alone, and is nobody's
 * child here.
 */
export async function startTask(input: TaskInput): Promise<ChildWorkflowHandle<Workflow> | undefined> {
  try {
    return await startChild(CODING_TASK, {
      workflowId: taskWorkflowId(input.taskId),
      // the queue of a routine would be inherited, and the people whom a task asks would wait for it
      taskQueue: AGENT_QUEUE,
      args: [input],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      ...taskPage(input),
      memo: { name: `${input.harness} in ${input.workspace}` },
      workflowTaskTimeout: 5_000,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return undefined;
  }
}
