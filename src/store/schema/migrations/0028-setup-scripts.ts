import { type Kysely, sql } from 'kysely';

/**
 * Scripts that agents proposed for an image, as the person was shown them: the log of a run may say something else
 * later.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table setup_scripts (
      question_id text primary key references questions on delete cascade, task_id text not null references tasks on delete cascade, script text not null,
      created_at timestamptz not null default now());
    create index setup_scripts_of on setup_scripts (task_id);
  `.execute(db);
}
