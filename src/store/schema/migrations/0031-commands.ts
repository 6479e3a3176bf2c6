import { type Kysely, sql } from 'kysely';

/** What commands keep: reminders, and numbers that the owner trusts besides those of the setting. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table reminders (
      id text primary key, chat_id text not null references chats on delete cascade, what text not null, sources jsonb not null default '[]',
      due_at timestamptz not null, state text not null default 'waiting', created_at timestamptz not null default now());
    create index reminders_waiting on reminders (chat_id, due_at) where state = 'waiting';
    create table wa_trusted (phone text primary key, trusted_at timestamptz not null default now());
  `.execute(db);
}
