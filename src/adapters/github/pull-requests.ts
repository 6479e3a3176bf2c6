import { z } from 'zod';
import { ask, type GitHubAccess } from './client.ts';
import type { RepositoryName } from './remote.ts';
import { inRepository } from './repositories.ts';

/** Pull requests with their reviews and comments. All texts and names in them are of strangers. */

export type StateFilter = 'open' | 'closed' | 'all';

export interface PullRequest {
  number: number;
  title: string;
  state: 'open' | 'closed' | 'merged';
  draft: boolean;
  author: string;
  head: string;
  base: string;
  url: string;
  updatedAt: string;
}

export interface Remark {
  author: string;
  body: string;
  at: string;
  /** of a review: what it decides; of a comment on code: file and line */
  about: string;
}

export interface PullRequestPage extends PullRequest {
  body: string;
  additions: number;
  deletions: number;
  files: number;
  commits: number;
  /** null: GitHub has not worked it out yet */
  mergeable: boolean | null;
  reviews: Remark[];
  comments: Remark[];
  /** comments that are older than the first one here */
  earlier: number;
}

/** The account of somebody who has left GitHub is null. */
export const author = z
  .object({ login: z.string() })
  .nullish()
  .transform((user) => user?.login ?? 'ghost');
const text = z
  .string()
  .nullish()
  .transform((body) => body ?? '');

const pull = z.object({
  number: z.int(),
  title: z.string(),
  state: z.enum(['open', 'closed']),
  draft: z.boolean().default(false),
  merged_at: z.string().nullish(),
  user: author,
  head: z.object({ ref: z.string(), label: z.string().nullish() }),
  base: z.object({ ref: z.string() }),
  html_url: z.url(),
  updated_at: z.string(),
});
const details = pull.extend({
  body: text,
  additions: z.int(),
  deletions: z.int(),
  changed_files: z.int(),
  commits: z.int(),
  mergeable: z.boolean().nullish(),
  comments: z.int().default(0),
  review_comments: z.int().default(0),
});
const review = z.object({ user: author, body: text, state: z.string(), submitted_at: z.string().nullish() });
const comment = z.object({ user: author, body: text, created_at: z.string() });
const codeComment = comment.extend({ path: z.string(), line: z.int().nullish() });

const pullOf = (each: z.output<typeof pull>): PullRequest => ({
  number: each.number,
  title: each.title,
  state: each.merged_at ? 'merged' : each.state,
  draft: each.draft,
  author: each.user,
  head: each.head.ref,
  base: each.base.ref,
  url: each.html_url,
  updatedAt: each.updated_at,
});

const PULLS = 'GET /repos/{owner}/{repo}/pulls';

export async function listPullRequests(
  access: GitHubAccess,
  name: RepositoryName,
  { state, limit }: { state: StateFilter; limit: number },
): Promise<PullRequest[]> {
  return (await ask(access, PULLS, { ...inRepository(name), state, per_page: limit }, z.array(pull))).map(pullOf);
}

/** The open pull request of a branch of this repository; null when there is none. */
export async function openPullRequestOf(
  access: GitHubAccess,
  name: RepositoryName,
  branch: string,
): Promise<PullRequest | null> {
  const head = `${name.owner}:${branch}`;
  const found = await ask(access, PULLS, { ...inRepository(name), state: 'open', head, per_page: 10 }, z.array(pull));
  // a server that does not know the filter answers with all of them
  const own = found.find((each) => each.head.ref === branch && (each.head.label ?? head) === head);
  return own ? pullOf(own) : null;
}

interface NewPullRequest {
  title: string;
  body: string;
  base: string;
  head: string;
  draft: boolean;
}

export async function createPullRequest(
  access: GitHubAccess,
  name: RepositoryName,
  wanted: NewPullRequest,
): Promise<PullRequest> {
  return pullOf(await ask(access, 'POST /repos/{owner}/{repo}/pulls', { ...inRepository(name), ...wanted }, pull));
}

/** GitHub gives at most so many of a kind in one answer. */
const PER_PAGE = 100;

export async function viewPullRequest(
  access: GitHubAccess,
  name: RepositoryName,
  number: number,
): Promise<PullRequestPage> {
  const at = { ...inRepository(name), number };
  const found = await ask(access, 'GET /repos/{owner}/{repo}/pulls/{number}', at, details);
  // the newest ones are on the last page
  const last = (count: number) => ({ ...at, per_page: PER_PAGE, page: Math.max(1, Math.ceil(count / PER_PAGE)) });
  const [reviews, comments, codeComments] = await Promise.all([
    ask(access, 'GET /repos/{owner}/{repo}/pulls/{number}/reviews', { ...at, per_page: PER_PAGE }, z.array(review)),
    ask(access, 'GET /repos/{owner}/{repo}/issues/{number}/comments', last(found.comments), z.array(comment)),
    ask(access, 'GET /repos/{owner}/{repo}/pulls/{number}/comments', last(found.review_comments), z.array(codeComment)),
  ]);
  return {
    ...pullOf(found),
    body: found.body,
    additions: found.additions,
    deletions: found.deletions,
    files: found.changed_files,
    commits: found.commits,
    mergeable: found.mergeable ?? null,
    reviews: reviews.map((each) => ({
      author: each.user,
      body: each.body,
      at: each.submitted_at ?? '',
      about: each.state.toLowerCase().replaceAll('_', ' '),
    })),
    comments: [
      ...comments.map((each) => ({ author: each.user, body: each.body, at: each.created_at, about: '' })),
      ...codeComments.map((each) => ({
        author: each.user,
        body: each.body,
        at: each.created_at,
        about: each.line ? `${each.path}:${each.line}` : each.path,
      })),
    ].sort((a, b) => (a.at < b.at ? -1 : 1)),
    earlier: Math.max(0, found.comments + found.review_comments - comments.length - codeComments.length),
  };
}
