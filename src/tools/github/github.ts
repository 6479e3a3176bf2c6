import type { Tool } from '../tool.ts';
import { branchTool } from './branches.ts';
import { issueTools } from './issues.ts';
import { publishTool } from './publish.ts';
import { pullRequestTools } from './pull-requests.ts';
import { searchTool } from './search.ts';
import { syncTool } from './sync.ts';
import { workflowRunTool } from './workflow-runs.ts';

/** Pushing a workspace. */
export const syncTools: Tool[] = [syncTool, publishTool];

/** Pull requests, issues, branches and runs on GitHub. */
export const githubTools: Tool[] = [...pullRequestTools, ...issueTools, branchTool, workflowRunTool, searchTool];
