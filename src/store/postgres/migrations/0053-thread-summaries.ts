import { type Kysely, sql } from 'kysely';

/** The last words of a thread, for a list of many threads: without it, a long task would be read back to what was said before it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index items_said on items (thread_id, ord) where kind in ('user_message', 'agent_message') and summary <> ''`.execute(db);
}
