import { type Kysely, sql } from 'kysely';

/** What a person says to a coding task while it works. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table task_words (
      id text primary key, task_id text not null references tasks on delete cascade, text text not null,
      said_at timestamptz not null default now(), heard_step int);
    create index task_words_of on task_words (task_id, said_at);
  `.execute(db);
}
