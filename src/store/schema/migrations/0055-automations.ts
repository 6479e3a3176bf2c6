import { type Kysely, sql } from 'kysely';

/**
 * An automation is a cron with a recurrence rule and a routine of its own, which no tool lists. Two may have one name.
 * `unsent`: the schedule does not have the row's state yet; otherwise a pause in the Web UI counts, and the row follows
 * it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table crons add column rrule text, add column unsent boolean not null default false, add column updated_at timestamptz not null default now();
    alter table routines add column automation boolean not null default false;
    drop index routines_name;
    create unique index routines_name on routines (chat_id, lower(name)) where not automation;
    drop index crons_name;
    create unique index crons_name on crons (chat_id, lower(name)) where rrule is null;
    create index crons_automations on crons (updated_at desc) where rrule is not null;
  `.execute(db);
}
