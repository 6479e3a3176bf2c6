import { z } from 'zod';
import { workspaceAt, workspaceOfAddress } from '../../store/kennel/workspaces/workspaces.ts';
import { endpoint } from './shared/endpoint.ts';

const count = z.int().nonnegative();

/**
 * The API never runs git: the configuration of a repository can run programs. A host has asked git in a container, when
 * a tool last looked.
 */
export const getWorkspaceStatus = endpoint({
  method: 'GET',
  path: '/v1/workspace/status',
  summary: 'Read the state of the workspace: that of the folder of new threads, else the active one of the terminal',
  answer: {
    schema: z
      .object({
        workspace: z.string().describe('Its folder'),
        git_repo: z.boolean(),
        branch: z.string().nullable().describe('null: no branch is checked out'),
        head: z.string().nullable().describe('The short id of the commit'),
        dirty: z.boolean(),
        staged: count,
        unstaged: count,
        untracked: count,
        ahead: count.nullable(),
        behind: count.nullable().describe('null: the branch follows no other'),
        seen_at: z.iso
          .datetime()
          .meta({ pattern: undefined })
          .nullable()
          .describe('When this was so; null: nobody has looked yet'),
      })
      .meta({ id: 'WorkspaceStatus' }),
    what: 'Its state, as it was seen last.',
  },
  handle: async (_, { store, config }) => {
    const folder = config.FETCH_WORKSPACE ?? process.cwd();
    const found = (await workspaceAt(store.db, folder)) ?? (await workspaceOfAddress(store.db, 'console', 'terminal'));
    const git = found?.profile?.git;
    return {
      workspace: found?.path ?? folder,
      git_repo: git !== null && git !== undefined,
      branch: git?.branch ?? null,
      head: git?.head?.slice(0, 7) ?? null,
      dirty: git ? git.modified + git.untracked > 0 : false,
      staged: git?.staged ?? 0,
      unstaged: git?.unstaged ?? git?.modified ?? 0,
      untracked: git?.untracked ?? 0,
      ahead: git && git.upstream !== false ? git.ahead : null,
      behind: git && git.upstream !== false ? git.behind : null,
      seen_at: found?.profile ? found.seen_at.toISOString() : null,
    };
  },
});
