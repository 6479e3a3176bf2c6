import { z } from 'zod';
import { GitHubAway, GitHubRefusal, hasStatus } from '../../adapters/github/errors.ts';
import {
  createPullRequest,
  listPullRequests,
  openPullRequestOf,
  type PullRequest,
  type PullRequestPage,
  type Remark,
  viewPullRequest,
} from '../../adapters/github/pull-requests.ts';
import { fullName, type RepositoryName } from '../../adapters/github/remote.ts';
import { headOfBranch, type Repository } from '../../adapters/github/repositories.ts';
import { defineTool, named, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import {
  changeWorkspace,
  inWorkspace,
  type Opened,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from '../workspace/in-workspace.ts';
import { once, writeAccess } from './access.ts';
import { pushBranch } from './bundle.ts';
import { body, day, name, title } from './foreign-words.ts';
import {
  branchArgument,
  branchOf,
  changedSince,
  type GitOnBranch,
  isOutcome,
  reading,
  remoteOf,
  repoArgument,
  writableOf,
} from './workspace-repository.ts';

const no = (output: string, metadata?: Record<string, unknown>): ToolOutcome => ({
  ok: false,
  output,
  ...(metadata && { metadata }),
});

const stateArgument = z.enum(['open', 'closed', 'all']).default('open');
const reads = {
  effect: 'idempotent',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  danger: 'SAFE',
  reads: ['page'],
  sends: [],
} as const;

export const pullRequestTools: Tool[] = [
  defineTool({
    name: 'github_pr_create',
    family: 'github',
    effect: 'once',
    runsIn: 'kennel',
    timeoutMs: WITH_IMAGE_MS,
    danger: 'MODERATE',
    reads: ['page'],
    sends: ['push', 'publish'],
    description: 'Make a pull request from the current branch, which is pushed first. Uncommitted changes stay out.',
    schema: z.strictObject({
      title: text(256).trim().min(1),
      body: text(4000).default(''),
      base: branchArgument.default('main'),
      draft: z.boolean().default(true),
      workspace: workspaceArgument,
    }),
    asks: ({ title, base }, at, say) => say('ask.pull', { title: named(title), base: named(base), at }),
    preview: async (args, context) =>
      (
        await inWorkspace(context, args.workspace, async (at) => {
          const git = await branchOf(context, at);
          return isOutcome(git) ? git : { ok: true, output: plan(context, at, git, args) };
        })
      ).output,
    run: (args, context) =>
      once(context, 'github_pr_list', () =>
        changeWorkspace(context, args.workspace, (at) => create(context, at, args)),
      ),
  }),
  defineTool({
    ...reads,
    name: 'github_pr_list',
    family: 'github',
    readFrom: ({ repo }) => `pull requests of ${repo ?? 'the workspace'}`,
    description: 'List pull requests, newest first.',
    schema: z.strictObject({
      state: stateArgument,
      repo: repoArgument,
      limit: z.int().min(1).max(100).default(10),
      workspace: workspaceArgument,
    }),
    run: ({ state, limit, ...where }, context) =>
      reading(context, where, async (access, { repository }) => {
        const found = await listPullRequests(access, repository, { state, limit });
        return listed(found, repository, { state, limit });
      }),
  }),
  defineTool({
    ...reads,
    name: 'github_pr_view',
    family: 'github',
    readFrom: ({ repo, number }) => `pull request ${repo ?? ''}#${number}`,
    description: 'Read a pull request with its reviews and comments.',
    schema: z.strictObject({ number: z.int().min(1), repo: repoArgument, workspace: workspaceArgument }),
    run: ({ number, ...where }, context) =>
      reading(context, where, async (access, { repository }) => {
        const page = await viewPullRequest(access, repository, number).catch((error: unknown) => {
          if (hasStatus(error, 404)) return null;
          throw error;
        });
        if (!page)
          return no(
            `There is no pull request #${number} in ${fullName(repository)} that can be seen from here.${tokenHint(access.token)}`,
          );
        return {
          ok: true,
          output: shownPage(page),
          metadata: { repository: fullName(repository), pullRequest: bounded(page) },
        };
      }),
  }),
];

const tokenHint = (token: string | undefined): string =>
  token ? '' : ' A private repository needs a GitHub token, and its owner.';

interface Wanted {
  title: string;
  body: string;
  base: string;
  draft: boolean;
}

/** All that the person says yes to. */
function plan(context: ToolContext, at: Opened, git: GitOnBranch, wanted: Wanted): string {
  const repository = remoteOf(context, at, git);
  return [
    `Repository: ${isOutcome(repository) ? repository.output : fullName(repository)}`,
    `From: ${git.branch} at ${git.head?.slice(0, 12) ?? 'no commit'}, pushed to GitHub first`,
    `Into: ${wanted.base}`,
    `${wanted.draft ? 'Draft title' : 'Title'}: ${wanted.title}`,
    '',
    wanted.body || '(no description)',
  ].join('\n');
}

async function create(context: ToolContext, at: Opened, wanted: Wanted): Promise<ToolOutcome> {
  const git = await branchOf(context, at);
  if (isOutcome(git)) return git;
  const changed = await changedSince(context, plan(context, at, git, wanted));
  if (changed) return changed;
  if (git.branch === wanted.base)
    return no(`${at.name} is on ${git.branch} itself. Make a branch for the changes first: github_branch_create.`);
  if (git.head === null) return no(`${at.name} has no commit yet, so there is nothing to merge.`);
  const repository = await writableOf(context, at, git);
  if (isOutcome(repository)) return repository;
  const refused = await unmergeable(context, repository, git.branch, wanted.base);
  if (refused) return refused;
  const pushed = await pushBranch(context, at, { branch: git.branch, base: wanted.base, commit: git.head, repository });
  if ('why' in pushed) return no(pushed.why);
  return await make(context, repository, { ...wanted, head: git.branch });
}

/** Why there can be no such pull request, asked before anything is pushed. */
async function unmergeable(
  context: ToolContext,
  repository: Repository,
  branch: string,
  base: string,
): Promise<ToolOutcome | null> {
  const access = writeAccess(context);
  const [open, head] = await Promise.all([
    openPullRequestOf(access, repository, branch),
    headOfBranch(access, repository, base),
  ]);
  if (open)
    return no(`${branch} has an open pull request already: ${line(open)}\nworkspace_sync adds commits to it.`, {
      url: open.url,
      number: open.number,
    });
  if (head !== null) return null;
  const other =
    repository.defaultBranch === base ? 'Push it first.' : `The default branch is ${repository.defaultBranch}.`;
  return no(`${fullName(repository)} has no branch ${base}. ${other}`);
}

async function make(
  context: ToolContext,
  repository: Repository,
  wanted: Wanted & { head: string },
): Promise<ToolOutcome> {
  try {
    const made = await createPullRequest(writeAccess(context), repository, wanted);
    return {
      ok: true,
      output: `Made ${line(made)}`,
      metadata: {
        url: made.url,
        number: made.number,
        repository: fullName(repository),
        draft: made.draft,
        head: made.head,
        base: made.base,
      },
    };
  } catch (error) {
    if (hasStatus(error, 422) && wanted.draft && /draft/i.test(error.reason))
      return no(
        `${wanted.head} was pushed, but ${fullName(repository)} allows no drafts. Call again with draft false.`,
      );
    if (error instanceof GitHubAway) throw new GitHubAway(`${wanted.head} was pushed. ${error.message}`, error.unsure);
    if (error instanceof GitHubRefusal)
      return no(`${wanted.head} was pushed, but the pull request was not made. ${error.message}`);
    throw error;
  }
}

const line = ({ number, title: words, state, draft, author, head, base, updatedAt, url }: PullRequest): string =>
  `#${number} ${title(words)} (${state}${draft ? ', draft' : ''}) by ${name(author)}, ${name(head)} -> ${name(base)}, changed ${day(updatedAt)}, ${url}`;

function listed(
  found: PullRequest[],
  repository: RepositoryName,
  { state, limit }: { state: string; limit: number },
): ToolOutcome {
  const where = `${fullName(repository)}${state === 'all' ? '' : ` (${state})`}`;
  const more = found.length === limit ? '\nThere may be more: raise limit (at most 100).' : '';
  return {
    ok: true,
    output:
      found.length === 0
        ? `There are no pull requests in ${where}.`
        : `Pull requests of ${where}:\n${found.map(line).join('\n')}${more}`,
    metadata: { repository: fullName(repository), pullRequests: found },
  };
}

const MOST_BODY = 20_000;
const MOST_REMARK = 4_000;

/** The same limits for programs as for the model: a comment may have 65,536 characters. */
const bounded = (page: PullRequestPage): PullRequestPage => {
  const short = (remarks: Remark[]) => remarks.map((each) => ({ ...each, body: each.body.slice(0, MOST_REMARK) }));
  return { ...page, body: page.body.slice(0, MOST_BODY), reviews: short(page.reviews), comments: short(page.comments) };
};

function shownPage(page: PullRequestPage): string {
  const merge =
    page.state === 'open'
      ? `, ${page.mergeable === null ? 'not known yet whether it merges' : page.mergeable ? 'merges cleanly' : 'conflicts with its base'}`
      : '';
  const remark = ({ author, body: words, at, about }: Remark): string =>
    `${name(author)}${about ? ` (${name(about)})` : ''}, ${day(at)}:${words.trim() ? `\n${body(words, MOST_REMARK)}` : ' no text'}`;
  return [
    line(page),
    `${page.commits} commits, ${page.files} files, +${page.additions} -${page.deletions}${merge}`,
    page.body.trim() ? body(page.body, MOST_BODY) : '(no description)',
    ...(page.reviews.length > 0 ? ['', 'Reviews:', ...page.reviews.map(remark)] : []),
    ...(page.comments.length > 0 ? ['', 'Comments:', ...page.comments.map(remark)] : []),
    ...(page.earlier > 0 ? [`${page.earlier} older comments are on the page.`] : []),
  ].join('\n');
}
