import { prefix } from '../../domain/text/storable.ts';
import type { RoutineRun, StepOutcome } from '../../store/routines/runs.ts';

const EXCERPT_CHARS = 3000;

export function summaryOf(results: StepOutcome[], status: 'completed' | 'failed', steps: number, reason?: string): string {
  const done = results.filter((result) => result.ok).length;
  const failed = results.find((result) => !result.ok);
  if (status === 'completed') return `${done} of ${steps} steps done`;
  return `${done} of ${steps} steps done${failed ? `, step ${results.indexOf(failed) + 1} (${failed.name}) failed` : ''}${reason ? `; ${reason}` : ''}`;
}

/** What the chat gets: the summary, a line for each routine step, and the output of the last one. */
export function resultText(run: Pick<RoutineRun, 'routine_name' | 'status' | 'summary' | 'results'> & { note?: string | null }): string {
  const last = run.results.at(-1);
  const lines = run.results.map((result, index) => `${index + 1}. ${result.name} (${result.tool}): ${result.ok ? 'done' : 'failed'}`);
  const excerpt = last && (last.output.length > EXCERPT_CHARS ? `${prefix(last.output, EXCERPT_CHARS)}\n[cut]` : last.output);
  return [`Workflow "${run.routine_name}" ${run.status}: ${run.summary}.`, run.note, lines.join('\n'), excerpt].filter(Boolean).join('\n\n');
}
