import { z } from 'zod';
import { ask, type GitHubAccess } from './client.ts';
import type { RepositoryName } from './remote.ts';
import { inRepository } from './repositories.ts';

/** A run of GitHub Actions. */
export interface WorkflowRun {
  id: number;
  name: string;
  title: string;
  branch: string | null;
  event: string;
  /** queued, in_progress, completed … */
  status: string;
  /** success, failure, cancelled …; null while it runs */
  conclusion: string | null;
  commit: string;
  url: string;
  createdAt: string;
}

const run = z
  .object({
    id: z.number(),
    name: z.string().nullish(),
    display_title: z.string().nullish(),
    head_branch: z.string().nullable(),
    head_sha: z.string(),
    event: z.string(),
    status: z.string().nullable(),
    conclusion: z.string().nullable(),
    html_url: z.url(),
    created_at: z.string(),
  })
  .transform(
    (each): WorkflowRun => ({
      id: each.id,
      name: each.name ?? 'workflow',
      title: each.display_title ?? '',
      branch: each.head_branch,
      event: each.event,
      status: each.status ?? 'unknown',
      conclusion: each.conclusion,
      commit: each.head_sha,
      url: each.html_url,
      createdAt: each.created_at,
    }),
  );

/** The newest runs, of one branch or of all. */
export async function listWorkflowRuns(
  access: GitHubAccess,
  name: RepositoryName,
  { branch, limit }: { branch?: string; limit: number },
): Promise<WorkflowRun[]> {
  const parameters = { ...inRepository(name), per_page: limit, ...(branch !== undefined && { branch }) };
  return (
    await ask(access, 'GET /repos/{owner}/{repo}/actions/runs', parameters, z.object({ workflow_runs: z.array(run) }))
  ).workflow_runs;
}
