import { type Kysely, sql } from 'kysely';

/** What a repeated request is told apart by, and the threads that keyed requests have made. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table inbox add column fingerprint text;
    create table request_keys (
      key text primary key, fingerprint text not null,
      -- the key is taken before its thread is made
      thread_id text not null references threads on delete cascade deferrable initially deferred, created_at timestamptz not null default now());
  `.execute(db);
}
