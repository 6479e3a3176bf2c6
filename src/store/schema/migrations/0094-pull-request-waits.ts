import { type Kysely, sql } from 'kysely';

/** What a watched pull request waits for, as the newest look has found it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table shipments add column waits_for text`.execute(db);
}
