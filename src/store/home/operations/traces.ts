import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What an activity works on, as its input names it. */
export interface Traced {
  turnId?: string | undefined;
  outboxId?: string | undefined;
  taskId?: string | undefined;
}

/**
 * Where the trace goes on of the message that this work is for. Null where that was not traced, and for work that no
 * message began.
 */
export async function traceOf(db: Db, { turnId = '', outboxId = '', taskId = '' }: Traced): Promise<string | null> {
  if (!turnId && !outboxId && !taskId) return null;
  // each part finds its rows by an index
  const { rows } = await sql<{ trace_parent: string }>`
    select trace_parent, received_at from inbox
    where trace_parent is not null and turn_id = coalesce(
      nullif(${turnId}::text, ''),
      (select turn_id from outbox where id = ${outboxId}),
      (select turn_id from tasks where id = ${taskId})
    )
    union all
    -- a reply without the model has a turn that its row does not name
    select trace_parent, received_at from inbox
    where trace_parent is not null and arrival ->> 'kind' = 'reply' and arrival ->> 'outboxId' = ${outboxId}
    order by received_at limit 1`.execute(db);
  return rows[0]?.trace_parent ?? null;
}
