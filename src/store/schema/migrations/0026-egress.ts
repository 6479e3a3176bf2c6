import { type Kysely, sql } from 'kysely';

/** Hosts that tasks asked for, what a person answered, and what went there. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table egress_asks (
      task_id text not null references tasks on delete cascade, host text not null, port int not null, tool text,
      asked_at timestamptz not null default now(), question_id text,
      primary key (task_id, host, port));
    create table egress_rules (
      id text primary key, kennel_host text not null, workspace text not null, task_id text, host text not null, port int not null,
      allowed boolean not null, until timestamptz, question_id text not null, decided_by jsonb, created_at timestamptz not null default now(),
      revoked_at timestamptz);
    create index egress_rules_of on egress_rules (kennel_host, workspace) where revoked_at is null;
    alter table task_egress add column connections int not null default 0, add column sent bigint not null default 0, add column received bigint not null default 0;
  `.execute(db);
}
