import { type Kysely, sql } from 'kysely';

/** Turns of a chat that a schedule began. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table turns add column run_id text`.execute(db);
  await sql`create unique index turns_run on turns (run_id) where run_id is not null`.execute(db);
}
