import { type Kysely, sql } from 'kysely';

/**
 * What people had remembered. Words of every language are found as they stand, because one table holds many languages.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table memories (
      id text primary key, owner text not null, body text not null, sources jsonb not null default '[]', created_at timestamptz not null default now(),
      words tsvector generated always as (to_tsvector('simple', body)) stored);
    create index memories_owner on memories (owner, created_at);
    create index memories_words on memories using gin (words);
  `.execute(db);
}
