import { sql } from 'kysely';
import type { Profile } from '../../../contracts/workspace-ops.ts';
import type { Db } from '../../postgres/database.ts';

export interface WorkspaceDetail {
  host: string;
  name: string;
  path: string;
  profile: Profile | null;
  seen_at: Date;
  tasks: Array<{ id: string; goal: string; state: string; worktree: boolean }>;
  egress: Array<{ to: string; port: number; allowed: boolean; task_id: string | null; once: boolean; over: boolean }>;
  shared_with: string[];
}

/**
 * Workspaces of every host, by name, with their live tasks, the rules that hold for them, and with whom they are
 * shared.
 */
export async function listWorkspaceDetails(db: Db, limit: number): Promise<WorkspaceDetail[]> {
  const { rows } = await sql<WorkspaceDetail>`
    select workspaces.host, workspaces.name, workspaces.path, workspaces.profile, workspaces.seen_at,
      coalesce((select jsonb_agg(jsonb_build_object('id', id, 'goal', goal, 'state', state, 'worktree', worktree) order by created_at)
        from tasks where tasks.host = workspaces.host and tasks.workspace = workspaces.name and ended_at is null), '[]') as tasks,
      coalesce((select jsonb_agg(jsonb_build_object('to', rule.host, 'port', port, 'allowed', allowed, 'task_id', task_id,
          'once', until is not null, 'over', coalesce(until <= now(), false)) order by created_at desc, id desc)
        from egress_rules as rule where rule.kennel_host = workspaces.host and rule.workspace = workspaces.name and revoked_at is null
          and (task_id is null or exists (select from tasks where tasks.id = rule.task_id and tasks.ended_at is null))), '[]') as egress,
      coalesce((select array_agg(person order by person) from workspace_shares where workspace_shares.workspace = workspaces.name), '{}') as shared_with
    from workspaces order by workspaces.name, workspaces.host limit ${limit}`.execute(db);
  return rows;
}
