import { type Kysely, sql } from 'kysely';

/** Whether the tokens of a step are an estimate. An answer that broke off is a step with the number 0. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table steps add column estimated boolean not null default false`.execute(db);
}
