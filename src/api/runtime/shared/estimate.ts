import { PROMPT_STEP } from '../../../contracts/routine.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { estimateOf } from '../../../tools/routines/routine-steps.ts';

/** The estimated cost of a scheduled prompt, as a field of an answer. `id`: of its routine, if any. */
export async function estimated(
  db: Db,
  { id, schedule, timeZone }: { id: string; schedule: string; timeZone: string },
): Promise<{ estimate?: string }> {
  const steps = [{ name: PROMPT_STEP, tool: PROMPT_STEP, args: {} }];
  const estimate = await estimateOf(db, { id, steps, schedule, timeZone }, () => undefined);
  return estimate === '' ? {} : { estimate };
}
