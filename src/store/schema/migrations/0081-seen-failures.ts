import { type Kysely, sql } from 'kysely';

/** Failures that the owner has seen: turns, tasks, runs of routines and messages, by their ids. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table seen_failures (id text primary key, seen_at timestamptz not null default now())`.execute(db);
}
