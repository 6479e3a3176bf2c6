import { type Kysely, sql } from 'kysely';

/** The families of tools that a thread has opened. The release before offers every tool in every request. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table threads add column families jsonb`.execute(db);
}
