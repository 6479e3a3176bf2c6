import { sql } from 'kysely';
import type { Db, Tx } from '../postgres/database.ts';

/** How often a container of a task asked for a refused host. */
export interface Refused {
  /** lower case; hosts after a task's hundredth are counted under `(others)`, port 0 */
  host: string;
  port: number;
  refused: number;
}

/** Adds refusals of a task in one statement; each host and port may be named once. Throws when the task does not exist. */
export async function addRefusals(db: Db | Tx, taskId: string, refusals: readonly Refused[]): Promise<void> {
  if (!refusals.length) return;
  await db
    .insertInto('task_egress')
    .values(refusals.map((one) => ({ task_id: taskId, ...one })))
    .onConflict((c) =>
      c.columns(['task_id', 'host', 'port']).doUpdateSet({
        refused: sql`task_egress.refused + excluded.refused`,
        last_at: sql`now()`,
      }),
    )
    .execute();
}

/** Refused hosts of a task, the most requested first. */
export const refusalsOf = (db: Db | Tx, taskId: string, limit = 200): Promise<Refused[]> =>
  db
    .selectFrom('task_egress')
    .select(['host', 'port', 'refused'])
    .where('task_id', '=', taskId)
    .orderBy('refused', 'desc')
    .orderBy('host')
    .orderBy('port')
    .limit(limit)
    .execute();
