import { type Kysely, sql } from 'kysely';

/** Pull requests that are watched to their end, the remarks on them, and the coding tasks that work on one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table shipments (
      id text primary key, chat_id text not null references chats on delete cascade, call_id text not null unique, workflow_id text not null unique,
      host text not null, workspace text not null, repository text not null, clone_url text not null,
      branch text not null, base text not null, commit text not null, title text not null, body text not null, rule text not null,
      number int, url text, head text, failed_checks jsonb not null default '[]',
      state text not null, stopped boolean not null default false, settled_pass int not null default 0, reason text,
      created_at timestamptz not null default now(), ended_at timestamptz);
    create index shipments_chat on shipments (chat_id, created_at desc);
    create unique index shipments_open on shipments (host, workspace, branch) where ended_at is null;
    create table shipment_remarks (
      shipment_id text not null references shipments on delete cascade, key text not null, author text not null, inside boolean not null,
      body text not null, place text not null, pass int, done boolean not null default false, seen_at timestamptz not null default now(),
      primary key (shipment_id, key));
    alter table questions add column shipment_id text;
    create index questions_shipment on questions (shipment_id) where state = 'open' and shipment_id is not null;
    alter table tasks add column shipment_id text, add column from_branch text, add column material text;
    create index tasks_shipment on tasks (shipment_id) where shipment_id is not null;
  `.execute(db);
}
