import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { createSchedule, describeSchedule } from '../adapters/schedules.ts';
import type { Config } from '../config.ts';
import type { ConversationView } from '../contracts/conversation.ts';
import { AGENT_QUEUE } from '../contracts/ids.ts';
import { CODING_TASK, viewQuery } from '../contracts/signals.ts';
import { taskPage } from '../domain/task-page.ts';
import type { Db } from '../store/database.ts';
import { longTurns, unmarkSignalled } from '../store/inbox.ts';
import { settledTasks } from '../store/kennel/tasks.ts';
import { settledCrons } from '../store/routines.ts';
import { taskInput } from './task-settings.ts';

/** Younger things may simply be on their way. */
const SETTLED_MS = 30_000;

/**
 * Compares the database with the Temporal server and brings back what the server no longer has: turns whose conversation
 * was terminated, crons whose schedule is gone, or everything, when somebody deleted the server's file. A turn that is
 * signalled again goes through its stored steps and results without paying or doing anything twice, and on from there.
 */
export async function reconcile({ db, temporal, config }: { db: Db; temporal: Client; config: Config }): Promise<Reconciled> {
  let turns = 0;
  for (const { inboxId, workflowId, turnId, signalledAt } of await longTurns(db, SETTLED_MS, 100)) {
    if (await hasTurn(temporal, workflowId, turnId, signalledAt!)) continue;
    await unmarkSignalled(db, inboxId);
    turns += 1;
  }
  let schedules = 0;
  for (const cron of await settledCrons(db, SETTLED_MS)) {
    if (await describeSchedule(temporal, cron.id)) continue;
    await createSchedule(temporal, {
      cronId: cron.id,
      schedule: cron.schedule,
      timeZone: cron.time_zone,
      enabled: cron.enabled,
      input: { routineId: cron.routine_id, chatId: cron.chat_id, cronId: cron.id },
    });
    schedules += 1;
  }
  let tasks = 0;
  for (const task of await settledTasks(db, SETTLED_MS)) {
    if (await isRunning(temporal, task.workflow_id)) continue;
    // its container is found by its label, its lines by their numbers: it goes on as if nothing had happened
    const input = { ...(await taskInput(db, config, task)), firstStep: Math.max(task.step, 1) };
    await temporal.workflow.start(CODING_TASK, {
      workflowId: task.workflow_id,
      taskQueue: AGENT_QUEUE,
      args: [input],
      ...taskPage(input),
      workflowTaskTimeout: 5_000,
    });
    tasks += 1;
  }
  return { turns, schedules, tasks };
}

export interface Reconciled {
  turns: number;
  schedules: number;
  tasks: number;
}

async function isRunning(temporal: Client, workflowId: string): Promise<boolean> {
  try {
    const { status } = await temporal.withDeadline(Date.now() + 10_000, () => temporal.workflow.getHandle(workflowId).describe());
    return status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** True when the conversation runs and has this turn. It is asked only when it began after the signal: a query wakes it. */
async function hasTurn(temporal: Client, workflowId: string, turnId: string, signalledAt: Date): Promise<boolean> {
  const handle = temporal.workflow.getHandle(workflowId);
  try {
    return await temporal.withDeadline(Date.now() + 10_000, async () => {
      const { status, startTime } = await handle.describe();
      if (status.name !== 'RUNNING') return false;
      if (startTime < signalledAt) return true;
      const view = await handle.query<ConversationView>(viewQuery);
      return view.turnId === turnId || view.queuedTurns.includes(turnId);
    });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
