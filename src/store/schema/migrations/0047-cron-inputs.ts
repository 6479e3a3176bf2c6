import { type Kysely, sql } from 'kysely';

/**
 * What a cron gives to its routine, and what a run was given. A run of an earlier release has null: its workflow names
 * the call that gave its inputs.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table crons add column inputs jsonb not null default '{}', add column sources jsonb not null default '[]';
    alter table routine_runs add column inputs jsonb, add column sources jsonb not null default '[]';
  `.execute(db);
}
