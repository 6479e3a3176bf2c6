import { join } from 'node:path';
import type { Config } from '../../config.ts';

export { AUTHOR } from '../../tools/workspace/in-workspace.ts';

/** Where the workspaces of this host are. */
export const workspacesFolder = (config: Config): string => config.FETCH_WORKSPACES ?? join(config.FETCH_HOME, 'workspaces');

/** Folder of a task's workspace on this host. */
export const workspaceOf = (config: Config, task: { workspace: string }): string => join(workspacesFolder(config), task.workspace);

/** What a workspace operation of a task is told besides: its worktree, where it has one of its own. */
export const place = (task: { id: string; worktree: boolean }): { worktree?: string } => (task.worktree ? { worktree: task.id } : {});
