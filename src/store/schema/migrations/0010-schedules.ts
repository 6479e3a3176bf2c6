import { type Kysely, sql } from 'kysely';

/** When a cron last ran and since when it may, so that what was missed can be told; and what a run tells of it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- what was missed before this is not known any more
    alter table crons add column enabled_since timestamptz not null default now(), add column last_fired timestamptz;
    alter table routine_runs add column note text;
  `.execute(db);
}
