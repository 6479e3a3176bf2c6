import { PROMPT_STEP } from '../../contracts/routine.ts';
import { prefix } from '../../domain/text/storable.ts';
import type { RoutineRun, StepOutcome } from '../../store/routines/runs.ts';

const EXCERPT_CHARS = 3000;

export function summaryOf(results: StepOutcome[], steps: number, reason?: string): string {
  const [done, failed] = [
    results.filter((result) => result.ok && !result.skipped),
    results.filter((result) => !result.ok),
  ];
  const failures = failed.map((result) => `, step ${results.indexOf(result) + 1} (${result.name}) failed`);
  return `${done.length} of ${steps} steps done${failures.join('')}${reason ? `; ${reason}` : ''}`;
}

const stateOf = ({ ok, skipped }: StepOutcome): string => (skipped ? 'skipped' : ok ? 'done' : 'failed');

/**
 * What the chat gets: the summary, a line for each routine step, and the output of the one that failed, or of the last
 * one.
 */
export function resultText(
  run: Pick<RoutineRun, 'routine_name' | 'status' | 'summary' | 'results'> & { note?: string | null },
): string {
  const shown = run.results.find((result) => !result.ok) ?? run.results.findLast((result) => !result.skipped);
  const excerpt =
    shown && (shown.output.length > EXCERPT_CHARS ? `${prefix(shown.output, EXCERPT_CHARS)}\n[cut]` : shown.output);
  if (shown?.tool === PROMPT_STEP)
    return [`Automation "${run.routine_name}" ${run.status}.`, run.note, excerpt].filter(Boolean).join('\n\n');
  const lines = run.results.map((result, index) => `${index + 1}. ${result.name} (${result.tool}): ${stateOf(result)}`);
  return [`Workflow "${run.routine_name}" ${run.status}: ${run.summary}.`, run.note, lines.join('\n'), excerpt]
    .filter(Boolean)
    .join('\n\n');
}
