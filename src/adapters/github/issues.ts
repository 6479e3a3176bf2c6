import { z } from 'zod';
import { ask, type GitHubAccess } from './client.ts';
import { author, type StateFilter } from './pull-requests.ts';
import type { RepositoryName } from './remote.ts';
import { inRepository } from './repositories.ts';

export interface Issue {
  number: number;
  title: string;
  state: 'open' | 'closed';
  author: string;
  assignees: string[];
  labels: string[];
  comments: number;
  url: string;
  updatedAt: string;
}

const issue = z.object({
  number: z.int(),
  title: z.string(),
  state: z.enum(['open', 'closed']),
  user: author,
  assignees: z.array(author).default([]),
  labels: z.array(z.union([z.string(), z.object({ name: z.string().nullish() })])).default([]),
  comments: z.int().default(0),
  html_url: z.url(),
  updated_at: z.string(),
  pull_request: z.unknown().optional(),
});

const issueOf = (each: z.output<typeof issue>): Issue => ({
  number: each.number,
  title: each.title,
  state: each.state,
  author: each.user,
  assignees: each.assignees,
  labels: each.labels.map((label) => (typeof label === 'string' ? label : (label.name ?? ''))),
  comments: each.comments,
  url: each.html_url,
  updatedAt: each.updated_at,
});

interface IssueFilter {
  state: StateFilter;
  assignee?: string | undefined;
  labels?: string[] | undefined;
  limit: number;
}

/** The issues that were changed last. */
export async function listIssues(
  access: GitHubAccess,
  name: RepositoryName,
  { state, assignee, labels, limit }: IssueFilter,
): Promise<Issue[]> {
  const filter = {
    state,
    sort: 'updated',
    ...(assignee !== undefined && { assignee }),
    ...(labels?.length && { labels: labels.join(',') }),
  };
  // GitHub lists pull requests among the issues, so more are asked for
  const found = await ask(
    access,
    'GET /repos/{owner}/{repo}/issues',
    { ...inRepository(name), ...filter, per_page: 100 },
    z.array(issue),
  );
  return found
    .filter((each) => each.pull_request == null)
    .slice(0, limit)
    .map(issueOf);
}

export async function createIssue(
  access: GitHubAccess,
  name: RepositoryName,
  wanted: { title: string; body: string; labels: string[] },
): Promise<Issue> {
  return issueOf(await ask(access, 'POST /repos/{owner}/{repo}/issues', { ...inRepository(name), ...wanted }, issue));
}
