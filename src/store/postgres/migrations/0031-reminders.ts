import { type Kysely, sql } from 'kysely';

/** What a person wants to be told once, at a time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table reminders (
      id text primary key, chat_id text not null references chats on delete cascade, what text not null, sources jsonb not null default '[]',
      due_at timestamptz not null, state text not null default 'waiting', created_at timestamptz not null default now());
    create index reminders_waiting on reminders (chat_id, due_at) where state = 'waiting';
  `.execute(db);
}
