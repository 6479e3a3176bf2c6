import { type Kysely, sql } from 'kysely';

/** Who serves a host's name and until when; which folder a workspace is, whatever host shows it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table kennel_hosts add column identity text, add column holder text, add column lease_until timestamptz, add column ready_at timestamptz;
    alter table workspaces add column identity text;
    alter table tasks add column workspace_identity text;
    create unique index tasks_one_in_folder on tasks (workspace_identity) where state in ('running', 'waiting', 'paused') and not worktree;
  `.execute(db);
}
