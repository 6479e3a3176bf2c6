import { z } from 'zod';
import { createGitHub, GitHubAway, GitHubRefusal, type Repository } from '../../adapters/github/api.ts';
import { pushBundle } from '../../adapters/github/push.ts';
import { parseRemote, type RepositoryName, webHost } from '../../adapters/github/remote.ts';
import type { Profile } from '../../contracts/workspace-ops.ts';
import { signedOff } from '../../domain/chat/sign-off.ts';
import { branchProblem } from '../../domain/tasks/workspace-names.ts';
import { intentOf, noteIntent } from '../../store/kennel/intents.ts';
import { signatureOf } from '../../store/kennel/signatures.ts';
import { named } from '../approval-words.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { noteRemote, withBundle } from './bundle.ts';
import { AUTHOR, changeWorkspace, inWorkspace, type Opened, operate, profileOf, text, WITH_IMAGE_MS, workspaceArgument } from './in-workspace.ts';

/** `workspace_sync` and `workspace_publish`: put the commits of a workspace on GitHub. The token stays in this process. */

const common = { effect: 'idempotent', runsIn: 'kennel', timeoutMs: WITH_IMAGE_MS, danger: 'MODERATE' } as const;
const NO_TOKEN =
  'No GitHub token is configured, so nothing can be pushed. Make a token that may create and write repositories (https://github.com/settings/tokens), set GH_TOKEN to it, and restart. git_commit commits without pushing.';
const description = text(256).default('').describe('Description of the new repository');

export const githubTools: Tool[] = [
  defineTool({
    ...common,
    name: 'workspace_sync',
    reads: ['command'],
    sends: ['push'],
    description: 'Commit everything that changed in a workspace and push its branch to GitHub; where it has no repository there, a private one is made.',
    schema: z.strictObject({
      name: workspaceArgument,
      message: text(256).trim().min(1).optional().describe('Commit message; made from the changes when left out'),
    }),
    preview: ({ name, message }, context) =>
      plan(
        context,
        name,
        (at, git) =>
          `Commit ${changes(git)}${message ? ` as "${message}"` : ''} in ${at.name} and push ${git.branch} to ${git.remote ?? 'a new private repository on GitHub'}`,
      ),
    workspaceOf: (args) => args.name,
    asks: ({ name }, at) => `Commit and push the workspace${name ? ` ${named(name)}` : at} to GitHub?`,
    run: ({ name, message }, context) => withGitHub(context, () => changeWorkspace(context, name, (at) => sync(context, at, message))),
  }),
  defineTool({
    ...common,
    name: 'workspace_publish',
    reads: ['command'],
    sends: ['publish'],
    asksAlways: (args) => args.isPublic,
    description: 'Make a new GitHub repository from a workspace that has none and push all of its commits.',
    schema: z.strictObject({ name: workspaceArgument, description, isPublic: z.boolean().default(false).describe('Anybody can read it; private by default') }),
    preview: ({ name, isPublic }, context) =>
      plan(context, name, (at) => `Make the ${isPublic ? 'PUBLIC' : 'private'} repository ${at.name} on GitHub and push every commit of the workspace to it`),
    workspaceOf: (args) => args.name,
    asks: ({ name, isPublic }, at) => `Publish the workspace${name ? ` ${named(name)}` : at} on GitHub, ${isPublic ? 'for everybody to read' : 'privately'}?`,
    run: (args, context) => withGitHub(context, () => changeWorkspace(context, args.name, (at) => publish(context, at, args))),
  }),
];

/** Publishes a new workspace. A failure is reported and leaves the workspace unchanged. */
export async function publishNew(context: ToolContext, at: Opened, about: string): Promise<ToolOutcome> {
  const published = await withGitHub(context, () => publish(context, at, { description: about, isPublic: false })).catch((error: Error): ToolOutcome => {
    if (context.signal.aborted) throw error;
    return { ok: false, output: error.message };
  });
  return published.ok ? published : { ok: false, output: `It is not on GitHub: ${published.output} workspace_publish tries again.` };
}

type Git = NonNullable<Profile['git']> & { branch: string };

/** A refusal of GitHub is a result; an unreachable GitHub is a failure, which is retried. */
async function withGitHub(context: ToolContext, act: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  if (!context.config.GH_TOKEN) return { ok: false, output: NO_TOKEN };
  try {
    return await act();
  } catch (error) {
    if (error instanceof GitHubRefusal) return { ok: false, output: error.message };
    if (error instanceof GitHubAway) throw new Error(`${error.message} Nothing was lost; it can be tried again.`);
    throw error;
  }
}

const clientOf = ({ config, signal }: ToolContext) => createGitHub({ token: config.GH_TOKEN!, apiUrl: config.GITHUB_API_URL, signal });

/** The repository of a workspace with its current branch, or why nothing can be pushed from it. */
async function repositoryOf(context: ToolContext, at: Opened): Promise<Git | ToolOutcome> {
  const { profile, why } = await profileOf(at, context);
  if (!profile) return { ok: false, output: why };
  const { git } = profile;
  if (!git) return { ok: false, output: `${at.name} has no git repository.` };
  if (git.branch === null) return { ok: false, output: `${at.name} is on no branch (its head is detached). Create or switch to one with git_branch.` };
  const problem = branchProblem(git.branch);
  return problem ? { ok: false, output: problem } : { ...git, branch: git.branch };
}

const changes = ({ modified, untracked }: Git): string => (modified + untracked === 0 ? 'nothing new' : `what changed in ${files(modified + untracked)}`);

async function plan(context: ToolContext, name: string | undefined, sentence: (at: Opened, git: Git) => string): Promise<string | null> {
  const shown = await inWorkspace(context, name, async (at) => {
    const git = await repositoryOf(context, at);
    return 'ok' in git ? git : { ok: true, output: sentence(at, git) };
  });
  return shown.output;
}

interface Publication {
  description: string;
  isPublic: boolean;
}

async function publish(context: ToolContext, at: Opened, { description: about, isPublic }: Publication): Promise<ToolOutcome> {
  const git = await repositoryOf(context, at);
  if ('ok' in git) return git;
  const intent = await intentOf(context.db, context.callId);
  // an earlier attempt may have recorded the remote already
  if (git.remote !== null && intent?.repository === undefined)
    return { ok: false, output: `${at.name} has a remote already (${git.remote}). workspace_sync pushes to it.` };
  if (git.head === null) return { ok: false, output: `${at.name} has no commit yet, so there is nothing to publish. Commit first.` };
  const made = await makeRepository(context, at.name, about, isPublic);
  if ('ok' in made) return made;
  const pushed = await push(context, at, git.branch, made, true);
  if ('why' in pushed)
    return { ok: false, output: `The repository ${shownUrl(made)} was made, but the commits are not there: ${pushed.why}`, metadata: { url: made.htmlUrl } };
  return {
    ok: true,
    output: `Published ${at.name} to ${shownUrl(made)} (${made.private ? 'private' : 'public'})`,
    metadata: { workspace: at.name, url: made.htmlUrl, repository: fullName(made), private: made.private, branch: git.branch, head: pushed.head },
  };
}

/** A new repository of the account, or the one that an earlier attempt made: known by its record, or because nothing was ever pushed to it. */
async function makeRepository(context: ToolContext, name: string, about: string, isPublic: boolean): Promise<Repository | ToolOutcome> {
  const { db, callId } = context;
  const github = clientOf(context);
  const intent = await intentOf(db, callId);
  const noted = intent?.repository as RepositoryName | undefined;
  const before = noted && (await github.find(noted));
  if (before) return before;
  const made = await github.create({ name, description: about, private: !isPublic });
  const owner = made?.owner ?? (await github.login());
  const there = made ?? (await github.find({ owner, name }));
  if (!there || (!made && (there.private === isPublic || !(await github.isEmpty(there)))))
    return {
      ok: false,
      output: `GitHub has a repository ${owner}/${name} already, and it is not an empty one. Choose another name for the workspace, or push to it by hand.`,
    };
  await noteIntent(db, callId, { ...intent, repository: { owner: there.owner, name: there.name } });
  return there;
}

async function sync(context: ToolContext, at: Opened, message: string | undefined): Promise<ToolOutcome> {
  const git = await repositoryOf(context, at);
  if ('ok' in git) return git;
  const github = clientOf(context);
  const host = webHost(context.config.GITHUB_API_URL);
  const named = git.remote === null ? null : parseRemote(git.remote, host);
  if (git.remote !== null && !named)
    return { ok: false, output: `The remote of ${at.name} (${git.remote}) is not a repository on ${host}; nothing was committed or pushed.` };
  const committed = git.modified + git.untracked > 0 ? await commit(context, at, git, message) : null;
  if (committed && !committed.ok) return committed;
  if (!committed && git.head === null) return { ok: false, output: `${at.name} has no commit and no files, so there is nothing to push.` };
  const said = committed ? committed.output : 'Nothing new to commit';
  const repository = named ? await github.find(named) : await makeRepository(context, at.name, '', false);
  if (!repository) return { ok: false, output: `${said}. ${named!.owner}/${named!.name} is not on ${host}, or GH_TOKEN may not see it.` };
  if ('ok' in repository) return { ok: false, output: `${said}. ${repository.output}` };
  const pushed = await push(context, at, git.branch, repository, false);
  if ('why' in pushed) return { ok: false, output: `${said}. ${pushed.why}`, metadata: { ...committed?.metadata, pushed: false } };
  const where = `origin/${git.branch}${named ? '' : ` (new private repository ${shownUrl(repository)})`}`;
  return {
    ok: true,
    output: `${said}, ${pushed.news ? `pushed to ${where}` : `and ${where} was up to date`}`,
    metadata: { ...committed?.metadata, workspace: at.name, pushed: pushed.news, branch: git.branch, head: pushed.head, url: repository.htmlUrl },
  };
}

/** Commits everything; returns `Committed 4 files: 'Add auth' (abc1234)`. */
async function commit(context: ToolContext, at: Opened, git: Git, message: string | undefined): Promise<ToolOutcome> {
  const subject =
    message ??
    [...(git.modified > 0 ? [`update ${files(git.modified)}`] : []), ...(git.untracked > 0 ? [`add ${files(git.untracked)}`] : [])]
      .join(', ')
      .replace(/^./, (first) => first.toUpperCase());
  const by = await signatureOf(context.db, context.chatId);
  const answer = await operate(at, { op: 'git-commit', message: signedOff(subject, by), paths: ['.'], author: by ?? AUTHOR }, context);
  if (!answer.ok) return { ok: false, output: answer.output };
  const head = String(answer.data?.commit ?? '');
  // in the state before, a new folder is one entry
  const count = Number(/(\d{1,9}) files? changed/.exec(answer.output)?.[1] ?? git.modified + git.untracked);
  return {
    ok: true,
    output: `Committed ${files(count)}: '${subject.split('\n')[0]}' (${head.slice(0, 7)})`,
    metadata: { files: count, message: subject, commit: head },
  };
}

const files = (count: number): string => `${count} ${count === 1 ? 'file' : 'files'}`;

async function push(
  context: ToolContext,
  at: Opened,
  branch: string,
  repository: Repository,
  everything: boolean,
): Promise<{ head: string; news: boolean } | { why: string }> {
  const { config, signal } = context;
  const bundled = await withBundle(at, { branch, everything, signal }, (bundle) =>
    pushBundle({ bundle, url: repository.cloneUrl, branch, everything, token: config.GH_TOKEN!, signal }),
  );
  if (!bundled.ok) return { why: bundled.why };
  if (!bundled.value.ok) return { why: bundled.value.why };
  const { head, news } = bundled.value;
  await noteRemote(at, { url: repository.cloneUrl, branch, head }, signal);
  return { head, news };
}

const fullName = ({ owner, name }: RepositoryName): string => `${owner}/${name}`;
const shownUrl = ({ htmlUrl }: Repository): string => htmlUrl.replace(/^https?:\/\//, '');
