import { type Kysely, sql } from 'kysely';

/** Coding tasks that begin with a plan, and whether those of a thread do. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tasks add column planning boolean not null default false, add column plan jsonb;
    alter table threads add column plan_first boolean;
  `.execute(db);
}
