import { type Kysely, sql } from 'kysely';

/** Where the trace of a message goes on. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table inbox add column trace_parent text`.execute(db);
}
