import type { Client } from '@temporalio/client';
import type { Db } from '../../src/store/postgres/database.ts';
import { insertRoutine } from '../../src/store/routines/routines.ts';
import { startRun } from '../../src/tools/routines/start-run.ts';
import type { ToolContext } from '../../src/tools/tool.ts';
import { each } from './deployment-scenes.ts';

/** Starts so many runs as the tool `workflow_run` does, each of a routine of its own with one routine step. */
export async function startRuns(
  { db, temporal }: { db: Db; temporal: Client },
  chatId: string,
  count: number,
): Promise<void> {
  const numbers = Array.from({ length: count }, (_, at) => at);
  await each(numbers, async (at) => {
    const id = `wf_${chatId}_${at}`;
    const routine = await insertRoutine(db, {
      id,
      chatId,
      name: id,
      description: '',
      workspace: null,
      steps: [{ name: 'look', tool: 'workflow_list', args: {} }],
    });
    const { ok, output } = await startRun({ db, temporal, callId: `call_${id}` } as ToolContext, routine!);
    if (!ok) throw new Error(output);
  });
}

/** Runs of this chat that have ended. */
export async function endedRuns(db: Db, chatId: string): Promise<number> {
  const rows = await db
    .selectFrom('routine_runs')
    .select('id')
    .where('chat_id', '=', chatId)
    .where('status', '!=', 'running')
    .execute();
  return rows.length;
}
