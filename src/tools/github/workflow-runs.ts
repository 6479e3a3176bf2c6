import { z } from 'zod';
import { fullName } from '../../adapters/github/remote.ts';
import { listWorkflowRuns, type WorkflowRun } from '../../adapters/github/workflow-runs.ts';
import { defineTool } from '../tool.ts';
import { WITH_IMAGE_MS, workspaceArgument } from '../workspace/in-workspace.ts';
import { name, title } from './foreign-words.ts';
import { reading } from './workspace-repository.ts';

const MOST = 10;
const MOST_OF_BRANCH = 5;

export const workflowRunTool = defineTool({
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
