import { z } from 'zod';
import type { Repository } from '../../adapters/github/repositories.ts';
import { signedOff } from '../../domain/chat/words/sign-off.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { SecretScan, secretsSentence } from '../../domain/text/secrets.ts';
import { MINUTE } from '../../domain/time.ts';
import { signatureOf } from '../../store/kennel/workspaces/signatures.ts';
import { toldInPrompt } from '../declarations.ts';
import { defineTool, named, type ToolContext, type ToolOutcome } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import {
  AUTHOR,
  changeWorkspace,
  inWorkspace,
  type Opened,
  operate,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from '../workspace/in-workspace.ts';
import { retriedWithToken } from './access.ts';
import { GIT, pushBranch } from './bundle.ts';
import { makeRepository, shownUrl } from './publish.ts';
import { rebaseOnto } from './rebase.ts';
import { branchOf, type GitOnBranch, isOutcome, remoteOf, writableOf } from './workspace-repository.ts';

/** `workspace_sync`: commits what changed and pushes it. */

export const syncTool = defineTool({
  name: 'workspace_sync',
  family: 'github',
  effect: 'idempotent',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  danger: 'MODERATE',
  reads: ['command'],
  sends: ['push'],
  description:
    'Commit all changes and push the branch to GitHub, on top of new commits there; without a repository, a private one is made. What looks like a secret is not pushed.',
  schema: z.strictObject({
    name: workspaceArgument,
    message: text(256).trim().min(1).optional().meta(toldInPrompt('Made from the changes when left out')),
  }),
  preview: async ({ name, message }, context) =>
    (
      await inWorkspace(context, name, async (at) => {
        const git = await branchOf(context, at);
        if (isOutcome(git)) return git;
        const where = git.remote ?? 'a new private repository on GitHub';
        return {
          ok: true,
          output: `Commit ${changes(git)}${message ? ` as "${message}"` : ''} in ${at.name} and push ${git.branch} to ${where}, on top of what is new there`,
        };
      })
    ).output,
  workspaceOf: (args) => args.name,
  asks: ({ name }, at, say) => say('ask.sync', { at: name ? say('ask.named', { name: named(name) }) : at }),
  run: ({ name, message }, context) =>
    retriedWithToken(context, () => changeWorkspace(context, name, (at) => sync(context, at, message))),
});

const LIMIT_MS = 5 * MINUTE;

/**
 * Prints what a commit of everything would add. It works in a git directory of its own, which borrows index and
 * objects: so it writes nothing into the workspace, and no filter or setting of the repository changes what is seen.
 */
const SCRIPT = [
  'place=$(mktemp -d)',
  'index=$("$@" rev-parse --git-path index)',
  'exclude=$("$@" rev-parse --git-path info/exclude)',
  'objects=$(realpath "$("$@" rev-parse --git-path objects)")',
  'ignored=$("$@" config core.excludesFile || true)',
  'head=$("$@" rev-parse --quiet --verify HEAD || "$@" hash-object -t tree /dev/null)',
  '"$@" init --quiet --bare --template= "$place"',
  // with its time, by which git knows which files may have changed in the second of its last look
  'if [ -f "$index" ]; then cp -p "$index" "$place/index"; fi',
  'if [ -f "$exclude" ]; then mkdir "$place/info"; cp "$exclude" "$place/info/exclude"; fi',
  'export GIT_DIR=$place GIT_WORK_TREE=$PWD GIT_ALTERNATE_OBJECT_DIRECTORIES=$objects',
  'set -- "$@" -c "core.excludesFile=$ignored"',
  // known to the index, with no object
  '"$@" add --intent-to-add .',
  '"$@" diff -U0 --text --no-renames --no-color --no-ext-diff --no-textconv "$head"',
].join('\n');

/**
 * Why what is not committed yet must not be: a secret in a commit is much harder to take back than one in a file. Null:
 * it may be.
 */
async function uncommittedSecrets({ kennel, path }: Opened, { config, signal }: ToolContext): Promise<string | null> {
  const scan = new SecretScan(config.GH_TOKEN ? [config.GH_TOKEN] : []);
  const result = await kennel.command({
    workspace: path,
    readOnly: true,
    argv: ['bash', '-ec', SCRIPT, 'scan', ...GIT],
    timeoutMs: LIMIT_MS,
    maxOutput: 4096,
    label: 'git-scan',
    onOutput: (stream, text) => {
      if (stream === 'stdout') scan.push(text);
    },
    signal,
  });
  if (result.code !== 0)
    return `What changed could not be searched for secrets, so nothing was pushed: ${printed(result.stderr).trim().slice(-300)}`;
  const findings = scan.end();
  return findings.length > 0 ? secretsSentence(findings, inline) : null;
}

async function sync(context: ToolContext, at: Opened, message: string | undefined): Promise<ToolOutcome> {
  const git = await branchOf(context, at);
  if (isOutcome(git)) return git;
  const remote = git.remote === null ? null : remoteOf(context, at, git);
  if (isOutcome(remote))
    return { ok: false, output: `${remote.output.replace(/\.$/, '')}; nothing was committed or pushed.` };
  const changed = git.modified + git.untracked > 0;
  const secrets = changed ? await uncommittedSecrets(at, context) : null;
  if (secrets) return { ok: false, output: `${secrets} Nothing was committed, either.` };
  const committed = changed ? await commit(context, at, git, message) : null;
  if (committed && !committed.ok) return committed;
  if (!committed && git.head === null)
    return { ok: false, output: `${at.name} has no commit and no files, so there is nothing to push.` };
  const said = committed ? committed.output : 'Nothing new to commit';
  const repository = remote ? await writableOf(context, at, git) : await makeRepository(context, at.name, '', false);
  if (isOutcome(repository)) return { ok: false, output: `${said}. ${repository.output}` };
  const pushed = await pushOverNews(context, at, git.branch, repository);
  if ('why' in pushed)
    return { ok: false, output: `${said}. ${pushed.why}`, metadata: { ...committed?.metadata, pushed: false } };
  const where = `origin/${git.branch}${remote ? '' : ` (new private repository ${shownUrl(repository)})`}`;
  const after = pushed.rebased ? ', rebased on new commits from GitHub' : '';
  return {
    ok: true,
    output: `${said}${after}, ${pushed.news ? `pushed to ${where}` : `and ${where} was up to date`}`,
    metadata: {
      ...committed?.metadata,
      workspace: at.name,
      pushed: pushed.news,
      rebased: pushed.rebased,
      branch: git.branch,
      head: pushed.head,
      url: repository.htmlUrl,
    },
  };
}

/** Pushes the branch; where GitHub has commits that are not here, ours are put on top of them first. */
async function pushOverNews(
  context: ToolContext,
  at: Opened,
  branch: string,
  repository: Repository,
): Promise<{ head: string; news: boolean; rebased: boolean } | { why: string }> {
  const first = await pushBranch(context, at, { branch, repository });
  if (!('why' in first)) return { ...first, rebased: false };
  if (!first.ahead) return first;
  const problem = await rebaseOnto(context, at, branch, first.ahead);
  if (problem) return { why: problem };
  const second = await pushBranch(context, at, { branch, repository });
  return 'why' in second ? second : { ...second, rebased: true };
}

const changes = ({ modified, untracked }: GitOnBranch): string =>
  modified + untracked === 0 ? 'nothing new' : `what changed in ${files(modified + untracked)}`;
const files = (count: number): string => `${count} ${count === 1 ? 'file' : 'files'}`;

/** Commits everything; returns `Committed 4 files: 'Add auth' (abc1234)`. */
async function commit(
  context: ToolContext,
  at: Opened,
  git: GitOnBranch,
  message: string | undefined,
): Promise<ToolOutcome> {
  const subject =
    message ??
    [
      ...(git.modified > 0 ? [`update ${files(git.modified)}`] : []),
      ...(git.untracked > 0 ? [`add ${files(git.untracked)}`] : []),
    ]
      .join(', ')
      .replace(/^./, (first) => first.toUpperCase());
  const by = await signatureOf(context.db, context.chatId);
  const answer = await operate(
    at,
    { op: 'git-commit', message: signedOff(subject, by), paths: ['.'], author: by ?? AUTHOR },
    context,
  );
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
