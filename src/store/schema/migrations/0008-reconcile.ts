import { type Kysely, sql } from 'kysely';

/** What lets records and a Temporal server that do not agree find together again. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- how often the signal of a row was lost with its server: each time it gets another id, or a conversation that has seen the row would drop it
    alter table inbox add column resignalled int not null default 0;
    -- what a person ordered, until it is taken back: it counts also where no workflow heard of it
    alter table tasks add column ordered text;
    update tasks set ordered = 'pause' where ended_at is null and (pausing or state = 'paused');
    -- steps of a run that must not run twice and have been begun, counted from 1
    alter table routine_runs add column once_begun int not null default 0;
  `.execute(db);
}
