import { type Kysely, sql } from 'kysely';

/**
 * A background task is a turn on a thread of its own. The row has no text and no state: those are the turn's. `coding`:
 * its turn starts a coding task, which is found by the thread.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table background_tasks (
      id text primary key, thread_id text not null unique references threads on delete cascade, turn_id text not null, inbox_id text not null,
      coding boolean not null default false, run_id text, created_at timestamptz not null default now());
    create index background_tasks_newest on background_tasks (created_at desc);
    create index background_tasks_run on background_tasks (run_id) where run_id is not null;
    create index tasks_thread on tasks (thread_id);
  `.execute(db);
}
