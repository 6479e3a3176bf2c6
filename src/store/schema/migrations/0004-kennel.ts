import { type Kysely, sql } from 'kysely';

/** Tables of coding tasks and of the hosts that run them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table kennel_hosts (
      host text primary key, slots int not null, ready boolean not null, problem text, harnesses jsonb not null default '[]',
      seen_at timestamptz not null default now());
    create table workspaces (
      host text not null, name text not null, path text not null, profile jsonb, seen_at timestamptz not null default now(),
      primary key (host, name));
    alter table chats add column workspace text, add column workspace_host text;
    create table tasks (
      id text primary key, chat_id text not null references chats, thread_id text not null references threads, turn_id text not null, call_id text not null unique,
      workflow_id text not null unique, goal text not null, agent text not null, harness text not null, host text not null, workspace text not null,
      worktree boolean not null default false, state text not null, timeout_ms bigint not null, step int not null default 0, session_id text,
      last text, reason text, result jsonb, outbox_id text,
      created_at timestamptz not null default now(), started_at timestamptz, ended_at timestamptz);
    create index tasks_chat on tasks (chat_id, created_at desc);
    create index tasks_live on tasks (host, workspace, created_at) where ended_at is null;
    -- one task at a time works in a folder; worktrees are folders of their own
    create unique index tasks_one_in_workspace on tasks (host, workspace) where state in ('running', 'waiting', 'paused') and not worktree;
    create table task_log (
      task_id text not null references tasks on delete cascade, seq bigint not null, step int not null, at timestamptz not null, line jsonb not null,
      primary key (task_id, seq));
    create table task_usage (
      task_id text not null references tasks on delete cascade, model text not null, calls int not null default 0, input_tokens bigint not null default 0,
      output_tokens bigint not null default 0, micro_usd bigint not null default 0, primary key (task_id, model));
    create table task_egress (
      task_id text not null references tasks on delete cascade, host text not null, port int not null, refused int not null default 0,
      last_at timestamptz not null default now(), primary key (task_id, host, port));
    alter table questions add column task_id text;
    alter table questions alter column call_id drop not null;
  `.execute(db);
}
