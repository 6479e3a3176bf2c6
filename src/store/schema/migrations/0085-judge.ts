import { type Kysely, sql } from 'kysely';

/**
 * The judged mode: who judges in a chat, the kind of each call, and how people answered about a kind. A release that
 * does not know the mode reads such a chat as cautious, and asks. And coding tasks that begin together.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table chats add column judged boolean not null default false, add column judge_model text;
    alter table calls add column kind jsonb;
    create table action_kinds (
      chat_id text not null references chats on delete cascade, host text not null, workspace text not null, key text not null,
      label text not null, yes int not null default 0, no int not null default 0, in_a_row int not null default 0,
      allowed_at timestamptz, question_id text, primary key (chat_id, host, workspace, key));

    create constraint trigger audit_judged after update of judged on chats deferrable initially deferred for each row
      when (old.judged <> new.judged) execute function audit_row('judged mode changed', 'id', 'judged');
    create constraint trigger audit_kind after update of allowed_at on action_kinds deferrable initially deferred for each row
      when (old.allowed_at is distinct from new.allowed_at)
      execute function audit_row('permission for a project changed', 'chat_id', 'workspace', 'label', 'allowed_at', 'question_id');

    create table races (
      id text primary key, chat_id text not null references chats on delete cascade, kind text not null, base text, told_by text,
      chosen_at timestamptz, dropped_at timestamptz, created_at timestamptz not null default now());
    create index races_chat on races (chat_id, created_at);
    alter table tasks add column race_id text, add column chosen boolean not null default false;
    create index tasks_race on tasks (race_id) where race_id is not null;
  `.execute(db);
}
