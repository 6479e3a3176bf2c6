import type { PromptArgs } from '../../contracts/routine.ts';
import { startBackgroundTask } from '../../gateway/intake/background.ts';
import type { Db } from '../../store/postgres/database.ts';
import { taskOfRun } from '../../store/routines/background-tasks.ts';
import { type RoutineRun, replaceStep } from '../../store/routines/runs.ts';
import { lastWordsOf } from '../../store/routines/task-detail.ts';
import type { ToolOutcome } from '../../tools/tool.ts';
import type { RoutineDeps } from '../activity-deps.ts';

/**
 * The step of an automation: its prompt runs as a background task, which the run waits for. A repeated attempt finds
 * the task of the first.
 */
export async function startPrompt(
  deps: RoutineDeps,
  run: RoutineRun,
  callId: string,
  args: PromptArgs,
): Promise<ToolOutcome> {
  const task = await startBackgroundTask(
    // ids of threads are random, so the key of their chats need not be secret
    { ...deps, secret: '' },
    {
      prompt: args.prompt,
      model: undefined,
      workspace: args.cwds[0],
      mode: undefined,
      allowShell: args.allow_shell,
      trustMode: false,
      autoApprove: args.auto_approve,
      runId: run.id,
      key: { id: `run ${callId}`, fingerprint: callId },
    },
  );
  return { ok: true, output: `Task ${task.id} was started.` };
}

/** The answer becomes the result of the step, once the task is over. A repeated attempt stores the same. */
export async function endPrompt(db: Db, runId: string, index: number): Promise<{ over: boolean; ok: boolean }> {
  const task = await taskOfRun(db, runId);
  if (task && ['queued', 'running'].includes(task.status)) return { over: false, ok: false };
  const ok = task?.status === 'completed';
  const output = task
    ? (task.error ?? (await lastWordsOf(db, task.turn_id)) ?? `Task ${task.id} was ${task.status}.`)
    : 'Its task is not there any more.';
  await replaceStep(db, runId, index, { ok, output });
  return { over: true, ok };
}
