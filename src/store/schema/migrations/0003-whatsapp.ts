import { type Kysely, sql } from 'kysely';

/** Tables of the WhatsApp channel, and attachments, which every channel may bring. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table wa_accounts (
      account text primary key, wanted text not null default 'off', request bigint not null default 0, pair_phone text,
      state text not null default 'disconnected', qr text, pairing_code text, last_error text, last_code int, needs text, blocked_until timestamptz,
      jid text, lid text, name text, number_mode text, version text, lease_holder text, lease_until timestamptz,
      phone_seen_at timestamptz, connected_at timestamptz, updated_at timestamptz not null default now(),
      sends_paused_until timestamptz, sends_paused_why text,
      normalized_count bigint not null default 0, chunked_count bigint not null default 0, fallback_split_count bigint not null default 0);
    create table wa_creds (account text primary key, data bytea not null, rev bigint not null default 0, updated_at timestamptz not null default now());
    create table wa_keys (account text not null, type text not null, id text not null, data bytea not null, primary key (account, type, id));
    create table wa_inbox (
      seq bigserial unique, account text not null, chat text not null, participant text not null default '', from_me boolean not null, message_id text not null,
      content bytea, attrs jsonb not null default '{}', received_at timestamptz not null default now(),
      not_before timestamptz, attempts int not null default 0, handled_at timestamptz, verdict text, inbox_id text,
      read_sent_at timestamptz,
      primary key (account, chat, participant, from_me, message_id));
    create index wa_inbox_waiting on wa_inbox (seq) where handled_at is null;
    create index wa_inbox_unread on wa_inbox (seq) where inbox_id is not null and read_sent_at is null and not from_me;
    create index inbox_of_turn on inbox (turn_id) where turn_id is not null;
    create index inbox_replies on inbox ((arrival ->> 'outboxId')) where arrival ->> 'kind' = 'reply';
    create index wa_inbox_message on wa_inbox (message_id);
    create index wa_inbox_became on wa_inbox (inbox_id) where inbox_id is not null;
    create table wa_contacts (
      id bigserial primary key, account text not null, lid text, pn text, name text, chat_address text not null, reply_jid text not null);
    create unique index wa_contacts_lid on wa_contacts (account, lid);
    create unique index wa_contacts_pn on wa_contacts (account, pn);
    create table wa_sends (
      message_id text primary key, account text not null, outbox_id text not null references outbox on delete cascade, part int not null, jid text not null,
      content bytea not null, state text not null default 'queued', attempts int not null default 0, error text, created_at timestamptz not null default now(),
      sent_at timestamptz, delivered_at timestamptz, read_at timestamptz, question_id text, edits text, unique (outbox_id, part));
    create index wa_sends_sent on wa_sends (account, sent_at);
    create table wa_groups (account text not null, jid text not null, metadata jsonb not null, fetched_at timestamptz not null, primary key (account, jid));
    create table attachments (
      id text primary key, thread_id text not null references threads on delete cascade, kind text not null, mime text not null, name text, size bigint not null,
      sha256 text not null, data bytea not null, preview bytea, text text, created_at timestamptz not null default now());
    alter table transcript add column attachment_ids jsonb not null default '[]';
  `.execute(db);
}
