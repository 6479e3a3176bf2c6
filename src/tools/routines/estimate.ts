import { PROMPT_STEP, type RoutineStep } from '../../contracts/routine.ts';
import { nextFirings } from '../../domain/cron.ts';
import { estimateText } from '../../domain/model/spending.ts';
import { DAY } from '../../domain/time.ts';
import type { Db } from '../../store/postgres/database.ts';
import { costOfRuns, usualCost } from '../../store/routines/runs.ts';
import type { Lookup } from './routine-steps.ts';

/** So many firings show how often a schedule fires in a day. */
const FIRINGS = 300;

/** Whether its runs may spend money or tokens. */
export const spends = (steps: readonly Pick<RoutineStep, 'tool'>[], lookup: Lookup): boolean =>
  steps.some(({ tool }) => tool === PROMPT_STEP || lookup(tool)?.startsTask === true);

/**
 * What a schedule will probably cost, as a sentence: by the past runs of its routine, or by what a turn and a coding task
 * usually cost. Empty when it costs nothing, or nothing is known.
 */
export async function estimateOf(
  db: Db,
  { id, steps, schedule, timeZone }: { id: string; steps: readonly RoutineStep[]; schedule: string; timeZone: string },
  lookup: Lookup,
): Promise<string> {
  if (!spends(steps, lookup)) return '';
  const run = (await costOfRuns(db, id)) ?? (await usualRun(db, steps, lookup));
  const now = new Date();
  const firings = nextFirings(schedule, timeZone, now, FIRINGS);
  const last = firings.at(-1);
  const perDay = last ? Math.max(1, firings.length) / Math.max(1, (last.getTime() - now.getTime()) / DAY) : 0;
  return run ? estimateText(run, perDay) : '';
}

async function usualRun(db: Db, steps: readonly RoutineStep[], lookup: Lookup) {
  const sum = { tokens: 0, microUsd: 0, unpriced: 0 };
  for (const { tool } of steps) {
    if (!spends([{ tool }], lookup)) continue;
    const cost = await usualCost(db, tool === PROMPT_STEP ? 'turn' : 'task');
    if (!cost) return null;
    sum.tokens += cost.tokens;
    sum.microUsd += cost.microUsd;
    sum.unpriced += cost.unpriced;
  }
  return sum;
}
