import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { AGENT_QUEUE, reminderWorkflowId } from '../contracts/ids.ts';
import type { ReminderInput } from '../contracts/reminder.ts';
import { REMINDER } from '../contracts/signals.ts';

/** Starts the workflow of a reminder, which the server holds back until it is due. False when it exists. */
export async function startReminder(temporal: Client, { id, due_at }: { id: string; due_at: Date }): Promise<boolean> {
  const input: ReminderInput = { reminderId: id };
  try {
    await temporal.withDeadline(Date.now() + 10_000, () =>
      temporal.workflow.start(REMINDER, {
        workflowId: reminderWorkflowId(id),
        taskQueue: AGENT_QUEUE,
        args: [input],
        startDelay: Math.max(0, due_at.getTime() - Date.now()),
        staticSummary: 'a reminder',
        staticDetails: `Due at ${due_at.toISOString()}. What it says is in the database.`,
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}
