import { PROMPT_STEP } from '../../contracts/routine.ts';
import { isOver, taskOfCall } from '../../store/kennel/tasks/tasks.ts';
import { findRun, replaceStep } from '../../store/routines/runs.ts';
import type { RoutineDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { endPrompt } from './prompt-step.ts';
import { callIdOf } from './run-routine-step.ts';

/**
 * The result of the coding task of a routine step becomes that of the step, once the task is over. A repeated attempt
 * stores the same.
 */
export async function endTaskStep(
  { db }: Pick<RoutineDeps, 'db'>,
  { runId, index }: { runId: string; index: number },
): Promise<{ over: boolean; ok: boolean }> {
  const [run, task] = await Promise.all([findRun(db, runId), taskOfCall(db, callIdOf(runId, index))]);
  if (!run) throw fail('NotFound', `Run ${runId} is not in the database.`);
  if (run.results[index]?.tool === PROMPT_STEP) return await endPrompt(db, runId, index);
  if (task && !isOver(task.state)) return { over: false, ok: false };
  const ok = task?.state === 'completed';
  const output = task
    ? `Task ${task.id} ${task.state}: ${task.result?.summary ?? task.reason ?? 'nothing is known of it'}`
    : 'Its task is not there any more.';
  await replaceStep(db, runId, index, { ok, output: [output, task?.result?.said ?? ''].filter(Boolean).join('\n\n') });
  return { over: true, ok };
}
