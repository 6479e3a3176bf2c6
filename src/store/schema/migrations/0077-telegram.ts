import { type Kysely, sql } from 'kysely';

/** The Telegram channel: its bot, the people who may write to it, and what was received and sent. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table tg_bots (
      id bigint primary key, username text not null, reads_groups boolean not null default false, problem text,
      lease_holder text, lease_until timestamptz, updated_at timestamptz not null default now())`.execute(db);
  await sql`
    create table tg_people (
      user_id bigint primary key, role text not null check (role in ('owner', 'trusted')), name text not null,
      paired_at timestamptz not null default now())`.execute(db);
  await sql`
    create table tg_codes (
      hash text primary key, role text not null check (role in ('owner', 'trusted')), expires_at timestamptz not null)`.execute(
    db,
  );
  await sql`
    create table tg_inbox (
      seq bigint generated always as identity primary key, bot_id bigint not null, key text not null,
      chat text not null, user_id bigint, kind text not null, content jsonb not null,
      received_at timestamptz not null default now(), not_before timestamptz, attempts int not null default 0,
      handled_at timestamptz, verdict text, inbox_id text, unique (bot_id, key))`.execute(db);
  await sql`create index tg_inbox_waiting on tg_inbox (bot_id, seq) where handled_at is null`.execute(db);
  await sql`create index tg_inbox_inbox on tg_inbox (inbox_id) where inbox_id is not null`.execute(db);
  await sql`
    create table tg_sends (
      outbox_id text not null, part int not null, chat text not null, content jsonb not null,
      state text not null, attempts int not null default 0, error text, message_id bigint, question_id text,
      created_at timestamptz not null default now(), sent_at timestamptz, primary key (outbox_id, part))`.execute(db);
  await sql`create index tg_sends_message on tg_sends (message_id) where message_id is not null`.execute(db);
  await sql`create index tg_sends_question on tg_sends (question_id) where question_id is not null`.execute(db);
}
