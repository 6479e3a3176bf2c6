import { type Kysely, sql } from 'kysely';

/** Questions of the owner that are asked on a second channel, too. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table questions add column also_in text`.execute(db);
  await sql`create index questions_also_in on questions (also_in) where also_in is not null`.execute(db);
}
