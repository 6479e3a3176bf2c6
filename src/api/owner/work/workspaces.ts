import { z } from 'zod';
import type { EgressRuleView, OwnerWorkspace, OwnerWorkspaces } from '../../../contracts/owner.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { revokeRules } from '../../../store/kennel/egress-rules.ts';
import { peopleNames } from '../../../store/owner/views/chats.ts';
import { listWorkspaceDetails, type WorkspaceDetail } from '../../../store/owner/views/tasks.ts';
import { ApiError } from '../../errors/errors.ts';
import { count, type Fields, time } from '../../http/endpoint.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
import { doing } from '../shared.ts';

const MOST_LISTED = 500;

const rule = z.object({
  to: z.string(),
  port: count(),
  allowed: z.boolean(),
  task_id: z.string().nullable().describe('null: for every task of the workspace'),
  once: z.boolean().describe('For some minutes'),
  over: z.boolean().describe('The rule has expired'),
} satisfies Fields<EgressRuleView>);

const workspace = z
  .object({
    host: z.string(),
    name: z.string(),
    path: z.string(),
    language: z.string().nullable(),
    git: z
      .object({
        branch: z.string().nullable(),
        head: z.string().nullable(),
        modified: count(),
        untracked: count(),
        ahead: count(),
        behind: count(),
      })
      .nullable(),
    seen_at: time().nullable(),
    tasks: z.array(z.object({ id: z.string(), goal: z.string(), state: z.string(), worktree: z.string().nullable() })),
    egress: z.array(rule),
    shared_with: z.array(z.string()),
  } satisfies Fields<OwnerWorkspace>)
  .meta({ id: 'OwnerWorkspace' });

export const getWorkspaces = endpoint({
  method: 'GET',
  path: '/v1/owner/workspaces',
  summary: 'Workspaces as their hosts last saw them',
  answer: {
    schema: z
      .object({ workspaces: z.array(workspace) } satisfies Fields<OwnerWorkspaces>)
      .meta({ id: 'OwnerWorkspaces' }),
    what: 'By name.',
  },
  handle: async (_, { store: { db } }) => {
    const rows = await listWorkspaceDetails(db, MOST_LISTED);
    const names = await peopleNames(
      db,
      rows.flatMap(({ shared_with }) => shared_with),
    );
    return {
      workspaces: rows.map((row) => ({
        ...viewOf(row),
        shared_with: row.shared_with.map((person) => names.get(person) ?? person),
      })),
    };
  },
});

function viewOf({ profile, seen_at, tasks, ...row }: WorkspaceDetail): OwnerWorkspace {
  const git = profile?.git;
  return {
    ...row,
    language: profile?.language ?? null,
    git: git
      ? {
          branch: git.branch,
          head: git.head,
          modified: git.modified,
          untracked: git.untracked,
          ahead: git.ahead,
          behind: git.behind,
        }
      : null,
    // a folder that was found and not looked at yet
    seen_at: profile ? seen_at.toISOString() : null,
    tasks: tasks.map(({ id, goal, state, worktree }) => ({
      id,
      goal: inline(goal, 200),
      state,
      worktree: worktree ? `fetch/${id}` : null,
    })),
  };
}

export const removeEgress = endpoint({
  method: 'POST',
  path: '/v1/owner/egress/remove',
  summary: 'Take back what was decided about a host that tasks wanted',
  body: z
    .object({
      host: z.string(),
      workspace: z.string(),
      to: z.string(),
      port: z.int().positive().max(65_535).nullish().describe('null: every port'),
    })
    .meta({ id: 'EgressRemoval', examples: [{ host: 'local', workspace: 'demo', to: 'example.com', port: 443 }] }),
  answer: doing('The rule is gone.'),
  refusals: { 404: 'There is no such rule.' },
  handle: async ({ body: { host, workspace: name, to, port } }, { store }) => {
    const gone = await revokeRules(store.db, host, [name], { host: to, port: port ?? null });
    if (gone.length === 0) throw new ApiError(404, `There is no rule about ${to} in ${name}`);
    return { message: 'The rule is gone. Open connections to it end now, and the next task that wants it asks you.' };
  },
});
