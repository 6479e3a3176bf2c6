import { z } from 'zod';
import { fullName } from '../../adapters/github/remote.ts';
import { searchRepositories } from '../../adapters/github/repositories.ts';
import { listWorkflowRuns, type WorkflowRun } from '../../adapters/github/workflow-runs.ts';
import { defineTool, type Tool } from '../tool.ts';
import { text, WITH_IMAGE_MS, workspaceArgument } from '../workspace/in-workspace.ts';
import { readAccess, retried } from './access.ts';
import { branchTool } from './branches.ts';
import { day, name, title } from './foreign-words.ts';
import { issueTools } from './issues.ts';
import { publishTool } from './publish.ts';
import { pullRequestTools } from './pull-requests.ts';
import { shipTool } from './ship.ts';
import { syncTool } from './sync.ts';
import { reading } from './workspace-repository.ts';

/** Pushing a workspace. */
export const syncTools: Tool[] = [syncTool, publishTool];

const searchTool = defineTool({
  name: 'github_search_repos',
  family: 'github',
  effect: 'idempotent',
  runsIn: 'worker',
  timeoutMs: 60_000,
  danger: 'SAFE',
  reads: ['page'],
  readFrom: () => 'a search of GitHub',
  // nobody sees a search but the server that the owner has chosen for all of these tools
  sends: [],
  description: 'Search GitHub repositories. Qualifiers such as language:go or stars:>100 work.',
  schema: z.strictObject({ query: text(256).trim().min(1), limit: z.int().min(1).max(20).default(5) }),
  run: ({ query, limit }, context) =>
    retried(async () => {
      const { total, repositories } = await searchRepositories(await readAccess(context), query, limit);
      const lines = repositories.map(
        ({ fullName, description, stars, language, archived, updatedAt, url }) =>
          `${name(fullName)} ${title(description)} (${[...(language ? [name(language)] : []), `${stars} stars`, ...(archived ? ['archived'] : [])].join(', ')}, changed ${day(updatedAt)}) ${url}`,
      );
      return {
        ok: true,
        output:
          lines.length === 0
            ? 'No repository matches.'
            : `${lines.length} of ${total} repositories:\n${lines.join('\n')}`,
        metadata: { total, repositories },
      };
    }),
});

const MOST = 10;
const MOST_OF_BRANCH = 5;

const workflowRunTool = defineTool({
  name: 'github_action_status',
  family: 'github',
  effect: 'idempotent',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  danger: 'SAFE',
  reads: ['page'],
  readFrom: () => 'workflow runs of the workspace',
  sends: [],
  description: 'Show the latest GitHub Actions runs, those of the current branch first.',
  schema: z.strictObject({ workspace: workspaceArgument }),
  run: ({ workspace }, context) =>
    reading(context, { workspace }, async (access, { repository, branch }) => {
      const [own, all] = await Promise.all([
        branch === null ? [] : listWorkflowRuns(access, repository, { branch, limit: MOST_OF_BRANCH }),
        listWorkflowRuns(access, repository, { limit: MOST }),
      ]);
      const others = all.filter((each) => !own.some(({ id }) => id === each.id)).slice(0, MOST - own.length);
      const part = (heading: string, runs: WorkflowRun[]): string[] =>
        runs.length > 0 ? [heading, ...runs.map(line)] : [];
      const lines = [...part(`Runs of ${branch}:`, own), ...part(own.length > 0 ? 'Other runs:' : 'Runs:', others)];
      return {
        ok: true,
        output: lines.length > 0 ? lines.join('\n') : `${fullName(repository)} has no runs of GitHub Actions.`,
        metadata: { repository: fullName(repository), branch, runs: [...own, ...others] },
      };
    }),
});

const line = (run: WorkflowRun): string =>
  `${name(run.name)}: ${name(run.conclusion ?? run.status)}, ${title(run.title)} on ${name(run.branch ?? 'no branch')} at ${run.commit.slice(0, 7)} by ${name(run.event)}, ${name(run.createdAt)}, ${run.url}`;

/** Pull requests, issues, branches and runs on GitHub. */
export const githubTools: Tool[] = [
  ...pullRequestTools,
  shipTool,
  ...issueTools,
  branchTool,
  workflowRunTool,
  searchTool,
];
