import { z } from 'zod';
import { fullName } from '../../adapters/github/remote.ts';
import { headOfBranch } from '../../adapters/github/repositories.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { defineTool, named, type ToolContext, type ToolOutcome } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import {
  atWork,
  changeWorkspace,
  inWorkspace,
  type Opened,
  WITH_IMAGE_MS,
  workspaceArgument,
} from '../workspace/in-workspace.ts';
import { once, writeAccess } from './access.ts';
import { GIT, pushBranch, WITHOUT_FILTERS } from './bundle.ts';
import {
  branchArgument,
  changedSince,
  type Git,
  gitOf,
  isOutcome,
  remoteOf,
  writableOf,
} from './workspace-repository.ts';

interface Wanted {
  name: string;
  from?: string | undefined;
}

export const branchTool = defineTool({
  name: 'github_branch_create',
  family: 'github',
  effect: 'once',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  danger: 'MODERATE',
  reads: ['command'],
  sends: ['push'],
  description: 'Make a branch, switch the workspace to it and push it to GitHub.',
  schema: z.strictObject({
    name: branchArgument,
    from: branchArgument.optional().describe('The current branch when left out'),
    workspace: workspaceArgument,
  }),
  asks: ({ name }, at, say) => say('ask.branch', { name: named(name), at }),
  preview: async ({ workspace, ...wanted }, context) =>
    (
      await inWorkspace(context, workspace, async (at) => {
        const git = await gitOf(context, at);
        return isOutcome(git) ? git : { ok: true, output: plan(context, at, git, wanted) };
      })
    ).output,
  run: ({ workspace, ...wanted }, context) =>
    once(context, 'git_branch', () => changeWorkspace(context, workspace, (at) => create(context, at, wanted))),
});

/** All that the person says yes to. */
function plan(context: ToolContext, at: Opened, git: Git, { name, from }: Wanted): string {
  const repository = remoteOf(context, at, git);
  const start = from ?? `${git.branch ?? 'the checked out commit'} at ${git.head?.slice(0, 12) ?? 'no commit'}`;
  return `Make the branch ${name} from ${start} in ${at.name}, switch to it, and push it with its commits to ${isOutcome(repository) ? repository.output : fullName(repository)}`;
}

/**
 * The start is a branch here, or else one that was fetched from the remote. Uncommitted changes come along, as with
 * git; where they cannot, git says so.
 */
const SCRIPT = [
  'name=$1 from=$2; shift 2',
  WITHOUT_FILTERS,
  'if "$@" show-ref --verify --quiet "refs/heads/$name"; then exit 20; fi',
  'start=HEAD',
  'if [ -n "$from" ]; then',
  '  for ref in "refs/heads/$from" "refs/remotes/origin/$from"; do if "$@" show-ref --verify --quiet "$ref"; then start=$ref; break; fi; done',
  '  if [ "$start" = HEAD ]; then exit 21; fi',
  'fi',
  '"$@" switch --quiet --no-track --create "$name" "$start"',
  '"$@" rev-parse HEAD',
].join('\n');

async function create(context: ToolContext, at: Opened, wanted: Wanted): Promise<ToolOutcome> {
  const no = (output: string): ToolOutcome => ({ ok: false, output });
  const { name, from } = wanted;
  const busy = await atWork(context, at);
  if (busy) return busy;
  const git = await gitOf(context, at);
  if (isOutcome(git)) return git;
  if (git.head === null) return no(`${at.name} has no commit yet, so a branch has nowhere to begin. Commit first.`);
  const changed = await changedSince(context, plan(context, at, git, wanted));
  if (changed) return changed;
  const repository = await writableOf(context, at, git);
  if (isOutcome(repository)) return repository;
  if ((await headOfBranch(writeAccess(context), repository, name)) !== null)
    return no(`${fullName(repository)} has a branch ${name} already. Choose another name.`);
  const result = await at.kennel.command({
    workspace: at.path,
    argv: ['bash', '-eo', 'pipefail', '-c', SCRIPT, 'branch', name, from ?? '', ...GIT],
    timeoutMs: 120_000,
    maxOutput: 4096,
    label: 'git-branch',
    signal: context.signal,
  });
  if (result.code === 20)
    return no(`${at.name} has a branch ${name} already. git_branch switches to it, workspace_sync pushes it.`);
  if (result.code === 21) return no(`${at.name} has no branch ${from}. git_branch lists the branches.`);
  if (result.code !== 0)
    return no(`The branch could not be made: ${inline(printed(result.stderr)) || 'it took too long'}`);
  const pushed = await pushBranch(context, at, { branch: name, repository });
  if ('why' in pushed)
    return no(`The branch ${name} was made here and is checked out, but it is not on GitHub. ${pushed.why}`);
  const url = `${repository.htmlUrl}/tree/${name}`;
  return {
    ok: true,
    output: `Made the branch ${name} from ${from ?? git.branch ?? 'the checked out commit'} at ${pushed.head.slice(0, 7)}; it is checked out and pushed: ${url}`,
    metadata: { workspace: at.name, branch: name, head: pushed.head, repository: fullName(repository), url },
  };
}
