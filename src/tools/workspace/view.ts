import type { Profile } from '../../contracts/workspace-ops.ts';
import { egressText } from '../../store/kennel/egress-rules.ts';
import { saveWorkspace, tasksIn } from '../../store/kennel/workspaces/workspaces.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { kindOf, type Opened, profileOf } from './in-workspace.ts';

/** A workspace in words, for people. */

/** Reads the profile of a workspace and stores it. */
export async function look(context: ToolContext, at: Opened): Promise<Profile | null> {
  const { profile } = await profileOf(at, context);
  if (profile) await saveWorkspace(context.db, { host: at.host, name: at.name, path: at.path, profile });
  return profile;
}

export const about = (name: string, profile: Profile | null, extra: string[] = []): string => {
  const parts = [...kindOf(profile), ...extra];
  return parts.length > 0 ? `${name} (${parts.join(', ')})` : name;
};

export const dataOf = (
  { name, host, path }: Pick<Opened, 'name' | 'host' | 'path'>,
  profile: Profile | null,
): Record<string, unknown> => ({
  id: name,
  name,
  host,
  path,
  profile,
});

/** `my-app (TypeScript) - on feature-x - 3 modified, 1 untracked - 2 ahead` */
export async function stateOf(context: ToolContext, at: Opened): Promise<ToolOutcome> {
  const { profile, why } = await profileOf(at, context);
  if (!profile) return { ok: false, output: why };
  await saveWorkspace(context.db, { host: at.host, name: at.name, path: at.path, profile });
  const { git } = profile;
  const tasks = await tasksIn(context.db, at);
  const changes = git
    ? [
        ...(git.modified > 0 ? [`${git.modified} modified`] : []),
        ...(git.untracked > 0 ? [`${git.untracked} untracked`] : []),
      ].join(', ')
    : '';
  const parts = [
    about(at.name, profile),
    ...(git
      ? [
          git.branch ? `on ${git.branch}` : git.head ? `detached at ${git.head.slice(0, 7)}` : 'no commit yet',
          changes || 'clean',
          ...(git.ahead > 0 ? [`${git.ahead} ahead`] : []),
          ...(git.behind > 0 ? [`${git.behind} behind`] : []),
        ]
      : ['no git repository']),
    ...tasks.map((task) => `task ${task.id} ${task.state}`),
  ];
  return { ok: true, output: parts.join(' - '), metadata: { ...dataOf(at, profile), tasks } };
}

/** The same, with the hosts that it may reach. */
export async function status(context: ToolContext, at: Opened): Promise<ToolOutcome> {
  const state = await stateOf(context, at);
  if (!state.ok) return state;
  const { text, named } = await egressText(context.db, context.config, [at]);
  return {
    ...state,
    output: `${state.output}\n${text}`,
    // a program of a repository chose which hosts it wants, and a name can say anything
    ...(named && { sources: [{ kind: 'command' as const, label: 'names of hosts' }] }),
  };
}
