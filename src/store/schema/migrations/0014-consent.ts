import { type Kysely, sql } from 'kysely';

/**
 * Who wrote, what policy said of a call, who decided and what they had been shown; and which workspaces the owner has
 * shared.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table calls add column policy text;
    alter table questions
      add column decided_by jsonb, add column remember boolean not null default false,
      add column number int not null default 1, add column evidence text, add column shown int not null default 0, add column delivered_at timestamptz;
    -- what was decided before stays decided
    update questions set decided_by = '{"role": "earlier"}' where state = 'answered';
    -- what was asked before counts as shown when it was asked
    update questions set delivered_at = asked_at where state = 'open';
    alter table inbox add column written_by jsonb;
    -- the few rows that limit what a turn may reach
    create index inbox_of_others on inbox (chat_id, turn_id) where written_by @> '[{"role": "trusted"}]' or written_by @> '[{"role": "member"}]';
    create table workspace_shares (
      workspace text not null, person text not null, shared_at timestamptz not null default now(),
      primary key (workspace, person));
  `.execute(db);
}
