import type { OpenInput } from '../../contracts/routine.ts';
import type { Given, Inputs } from '../../domain/routine-inputs.ts';
import type { Db } from '../../store/postgres/database.ts';
import type { Cron } from '../../store/routines/crons.ts';
import { findCallWithChat } from '../../store/turns/steps/calls.ts';
import { taintOfCall, unaskedSources } from '../../store/turns/steps/taint.ts';

/** What a run is given: by its cron, or by the call that started it. */
export const givenTo = async (db: Db, { chatId, callId }: OpenInput, cron: Cron | undefined): Promise<Given> =>
  cron ? { inputs: cron.inputs, sources: cron.sources } : await givenByCall(db, chatId, callId);

/** What the call of workflow_run had given, and what its turn had read if no person was asked about it. */
export async function givenByCall(db: Db, chatId: string, callId: string | undefined): Promise<Given> {
  const call = callId === undefined ? undefined : await findCallWithChat(db, callId);
  if (callId === undefined || call?.chatId !== chatId) return { inputs: {}, sources: [] };
  return { inputs: (call.args.inputs ?? {}) as Inputs, sources: unaskedSources(await taintOfCall(db, callId)) };
}
