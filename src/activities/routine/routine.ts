import { type CloseInput, PROMPT_STEP, type RoutineActivities } from '../../contracts/routine.ts';
import type { Source } from '../../contracts/taint.ts';
import { findRoutine } from '../../store/routines/routines.ts';
import { closeRun, findRun, type RoutineRun } from '../../store/routines/runs.ts';
import { recordNotice } from '../../store/turns/complete-turn.ts';
import { tools } from '../../tools/registry.ts';
import type { RoutineDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { beating, recording } from '../heartbeat.ts';
import { endTaskStep } from './end-task-step.ts';
import { openRun } from './open-run.ts';
import { resultText, summaryOf } from './result-text.ts';
import { runRoutineStep } from './run-routine-step.ts';

export const createRoutineActivities = (deps: RoutineDeps): RoutineActivities => ({
  openRun: recording((input) => openRun(deps, input)),
  runRoutineStep: beating((input) => runRoutineStep(deps, input)),
  endTaskStep: recording((input) => endTaskStep(deps, input)),
  closeRun: recording((input) => closeAndTell(deps, input)),
});

/** Closes the run and puts its result into the outbox of its chat. The outbox id is the same on every attempt. */
async function closeAndTell({ db }: RoutineDeps, { runId, status, steps, reason }: CloseInput): Promise<string> {
  const before = await findRun(db, runId);
  if (!before) throw fail('NotFound', `Run ${runId} is not in the database.`);
  const ended =
    status === 'failed' &&
    before.results.every((result) => result.ok) &&
    !(await findRoutine(db, before.chat_id, before.routine_id));
  const why = reason ?? (ended ? 'the workflow was deleted while it ran' : undefined);
  const run = await closeRun(db, runId, status, summaryOf(before.results, steps, why));
  const outboxId = `out_${runId}_result`;
  await recordNotice(db, {
    chatId: run.chat_id,
    outboxId,
    text: resultText(run),
    kind: 'result',
    sources: sourcesOfRun(run),
    ...(run.status === 'completed' && { unasked: 'routine' as const }),
  });
  return outboxId;
}

/** Sources of foreign text in the result of a run: what its tools read. */
function sourcesOfRun(run: RoutineRun): Source[] {
  // a prompt may read anything
  const reads = run.results.some((result) => result.tool === PROMPT_STEP || tools.get(result.tool)?.reads.length);
  return reads ? [{ kind: 'routine', label: run.routine_name }] : [];
}
