import { type Kysely, sql } from 'kysely';

/**
 * Sessions of the status API: a thread that was deleted as one, and the messages beside answers that its counters
 * count.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table threads add column deleted_at timestamptz;
    create index outbox_beside_answers on outbox (created_at) where kind in ('notice', 'progress', 'result');
  `.execute(db);
}
