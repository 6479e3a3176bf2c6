import { type Kysely, sql } from 'kysely';

/** Chats, threads and turns, with everything that belongs to them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table chats (
      id text primary key, channel text not null, address text not null, workflow_id text not null unique,
      autonomy text not null default 'cautious',
      created_at timestamptz not null default now(), last_activity_at timestamptz not null default now(),
      unique (channel, address));
    create table threads (
      id text primary key, chat_id text not null references chats, model text not null, workspace text not null, mode text not null,
      allow_shell boolean not null default false, trust_mode boolean not null default false, auto_approve boolean not null default false,
      archived boolean not null default false, system_prompt text, task_id text, title text, latest_turn_id text,
      created_at timestamptz not null default now(), updated_at timestamptz not null default now());
    create index threads_updated on threads (updated_at desc);
    create index threads_chat on threads (chat_id, created_at);
    create table turns (
      id text primary key, thread_id text not null references threads on delete cascade, status text not null, input_summary text not null,
      usage jsonb, micro_usd bigint not null default 0, error text, steer_count int not null default 0, auto_approve boolean, model text,
      delay_told boolean not null default false,
      created_at timestamptz not null default now(), started_at timestamptz, ended_at timestamptz);
    create index turns_thread on turns (thread_id, created_at);
    create unique index turns_one_active on turns (thread_id) where status = 'in_progress';
    create table items (
      ord bigserial, id text primary key, turn_id text not null references turns on delete cascade, thread_id text not null,
      kind text not null, status text not null, summary text not null, detail text, metadata jsonb, started_at timestamptz, ended_at timestamptz);
    create index items_turn on items (turn_id, ord);
    create index items_thread on items (thread_id, ord);
    create table events (
      seq bigserial primary key, thread_id text not null, turn_id text, item_id text, event text not null, payload jsonb not null,
      at timestamptz not null default now());
    create index events_thread on events (thread_id, seq);
    create table inbox (
      id text primary key, chat_id text not null references chats, thread_id text not null, turn_id text, channel_message_id text not null,
      arrival jsonb not null, body text not null, received_at timestamptz not null default now(), signalled_at timestamptz, consumed_at timestamptz,
      unique (chat_id, channel_message_id));
    create index inbox_unsignalled on inbox (received_at) where signalled_at is null;
    create index inbox_turn on inbox (turn_id) where consumed_at is null;
    create table steps (
      key text primary key, turn_id text not null references turns on delete cascade, step int not null, model text not null, result jsonb not null,
      input_tokens int not null, output_tokens int not null, micro_usd bigint not null, created_at timestamptz not null default now());
    create index steps_turn on steps (turn_id);
    create table calls (
      id text primary key, provider_id text not null, turn_id text not null references turns on delete cascade, thread_id text not null, item_id text not null,
      step int not null, position int not null, name text not null, args jsonb not null, danger text not null, effect text not null,
      state text not null, ok boolean, output text, metadata jsonb, started_at timestamptz, ended_at timestamptz);
    create index calls_turn on calls (turn_id);
    create table transcript (
      ord bigserial primary key, id text not null unique, thread_id text not null, turn_id text not null references turns on delete cascade, role text not null,
      content text not null, call_ids jsonb not null default '[]', tokens int not null, created_at timestamptz not null default now());
    create index transcript_thread on transcript (thread_id, ord);
    create table summaries (
      id text primary key, thread_id text not null, upto bigint not null, body text not null, created_at timestamptz not null default now());
    create index summaries_thread on summaries (thread_id, upto desc);
    create table questions (
      id text primary key, chat_id text not null, thread_id text not null, turn_id text not null references turns on delete cascade, call_id text not null unique,
      kind text not null, prompt text not null, options jsonb not null default '[]', state text not null, decision text, answer text,
      asked_at timestamptz not null default now(), decided_at timestamptz);
    create index questions_open on questions (thread_id) where state = 'open';
    create table outbox (
      ord bigserial, id text primary key, chat_id text not null references chats, thread_id text, turn_id text, kind text not null, body text not null,
      state text not null default 'queued', attempts int not null default 0, error text,
      created_at timestamptz not null default now(), sent_at timestamptz);
    create index outbox_queued on outbox (created_at) where state = 'queued';
    create index outbox_turn on outbox (turn_id);
    create table routines (
      id text primary key, chat_id text not null references chats, name text not null, description text not null default '', workspace text, steps jsonb not null,
      created_at timestamptz not null default now(), updated_at timestamptz not null default now());
    create unique index routines_name on routines (chat_id, lower(name));
    create table crons (
      id text primary key, routine_id text not null references routines on delete cascade, chat_id text not null, name text not null, schedule text not null,
      time_zone text not null, enabled boolean not null default true, created_at timestamptz not null default now());
    create unique index crons_name on crons (chat_id, lower(name));
    create table routine_runs (
      id text primary key, routine_id text not null, routine_name text not null, chat_id text not null, cron_id text, workflow_id text not null unique,
      scheduled_for timestamptz, status text not null, summary text, results jsonb not null default '[]',
      started_at timestamptz not null default now(), ended_at timestamptz);
    create index routine_runs_routine on routine_runs (routine_id, started_at desc);
  `.execute(db);
}
