import { join } from 'node:path';
import type { Config } from '../../config.ts';

export { AUTHOR } from '../../tools/workspace/in-workspace.ts';

/** The folder of this host's workspaces. */
export const workspacesFolder = (config: Config): string =>
  config.FETCH_WORKSPACES ?? join(config.FETCH_HOME, 'workspaces');

/** Folder of a task's workspace on this host. */
export const workspaceOf = (config: Config, task: { workspace: string }): string =>
  join(workspacesFolder(config), task.workspace);

/** The worktree of a task, for operations on its workspace; empty when it works on the workspace's own files. */
export const worktreeOption = (task: { id: string; worktree: boolean }): { worktree?: string } =>
  task.worktree ? { worktree: task.id } : {};
