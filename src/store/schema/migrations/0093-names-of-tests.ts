import { type Kysely, sql } from 'kysely';

/** Names of tests are read otherwise now. A run with the earlier names would make every test look gone. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`delete from test_runs`.execute(db);
}
