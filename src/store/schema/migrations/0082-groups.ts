import { type Kysely, sql } from 'kysely';

/** Groups that the account is in, the owner's rules for them, and what is said there between two answers. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table groups (
      channel text not null, address text not null, chat_id text, name text not null, members int,
      folder text unique, rule jsonb not null default '{}', notes jsonb,
      seen_at timestamptz not null default now(), told_at timestamptz, registered_at timestamptz,
      paused_at timestamptz, left_at timestamptz, primary key (channel, address))`.execute(db);
  await sql`create index groups_chat on groups (chat_id) where chat_id is not null`.execute(db);
  await sql`
    create table group_talk (
      ord bigint generated always as identity primary key, chat_id text not null, key text not null,
      author text not null, owner boolean not null, person text, body text not null,
      said_at timestamptz not null, message_id text, unique (chat_id, key))`.execute(db);
  await sql`create index group_talk_unread on group_talk (chat_id, ord) where message_id is null`.execute(db);
  await sql`create index group_talk_person on group_talk (person) where person is not null`.execute(db);
}
