import { type Kysely, sql } from 'kysely';

/** A task is told by the tests of its project, too, that its work is not done. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table task_words add column of_tests boolean not null default false`.execute(db);
}
