import { ARCHIVED } from '../../adapters/github/errors.ts';
import { fullName, parseFullName, parseRemote, type RepositoryName, webHost } from '../../adapters/github/remote.ts';
import { findRepository, type Repository } from '../../adapters/github/repositories.ts';
import type { Profile } from '../../contracts/workspace-ops.ts';
import { branchProblem } from '../../domain/tasks/workspace-names.ts';
import { previewOfCall } from '../../store/turns/steps/calls.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { inWorkspace, type Opened, profileOf, text } from '../workspace/in-workspace.ts';
import { readAccess, retried, writeAccess } from './access.ts';

/** Which repository on GitHub a call means, and what the workspace is at. */

export type Git = NonNullable<Profile['git']>;
export type GitOnBranch = Git & { branch: string };

const no = (output: string): ToolOutcome => ({ ok: false, output });

export const isOutcome = (value: object | null): value is ToolOutcome => value !== null && 'ok' in value;

/** A branch as the contract has it: a part of what git takes. */
export const branchArgument = text(100).refine(
  (name) => branchProblem(name) === null && /^[A-Za-z0-9._/-]*$/.test(name),
  'is not a name for a branch',
);
export const repoArgument = text(201)
  .refine((repo) => parseFullName(repo) !== null, 'must be owner/name')
  .optional()
  .describe('owner/name');

export async function gitOf(context: ToolContext, at: Opened): Promise<Git | ToolOutcome> {
  const { profile, why } = await profileOf(at, context);
  if (!profile) return no(why);
  return profile.git ?? no(`${at.name} has no git repository.`);
}

/** The git repository of a workspace with its current branch, or why nothing can be pushed from it. */
export async function branchOf(context: ToolContext, at: Opened): Promise<GitOnBranch | ToolOutcome> {
  const git = await gitOf(context, at);
  if (isOutcome(git)) return git;
  if (git.branch === null)
    return no(`${at.name} is on no branch (its head is detached). Create or switch to one with git_branch.`);
  const problem = branchProblem(git.branch);
  return problem ? no(problem) : { ...git, branch: git.branch };
}

/** The repository that the remote of a workspace names. */
export function remoteOf({ config }: ToolContext, at: Pick<Opened, 'name'>, git: Git): RepositoryName | ToolOutcome {
  const host = webHost(config.GITHUB_API_URL);
  if (git.remote === null) return no(`${at.name} has no repository on ${host} yet: workspace_publish makes one.`);
  return (
    parseRemote(git.remote, host) ?? no(`The remote of ${at.name} (${git.remote}) is not a repository on ${host}.`)
  );
}

/** The repository of a workspace as GitHub has it, for what writes to it. */
export async function writableOf(context: ToolContext, at: Opened, git: Git): Promise<Repository | ToolOutcome> {
  const name = remoteOf(context, at, git);
  if (isOutcome(name)) return name;
  const found = await findRepository(writeAccess(context), name);
  if (!found)
    return no(
      `${fullName(name)} is not on ${webHost(context.config.GITHUB_API_URL)}, or the GitHub token may not see it.`,
    );
  return found.archived ? no(ARCHIVED) : found;
}

interface Read {
  repository: RepositoryName;
  /** the current branch of the workspace, if it is meant */
  branch: string | null;
}

/**
 * Runs `act` with the repository that the call names, or else that of the workspace. No workspace is needed where it
 * names one.
 */
export function reading(
  context: ToolContext,
  { repo, workspace }: { repo?: string | undefined; workspace?: string | undefined },
  act: (access: Awaited<ReturnType<typeof readAccess>>, read: Read) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  return retried(async () => {
    const named = repo === undefined ? null : parseFullName(repo);
    if (named) return await act(await readAccess(context), { repository: named, branch: null });
    return await inWorkspace(context, workspace, async (at) => {
      const git = await gitOf(context, at);
      if (isOutcome(git)) return git;
      const repository = remoteOf(context, at, git);
      return isOutcome(repository)
        ? repository
        : await act(await readAccess(context), { repository, branch: git.branch });
    });
  });
}

/** Why a call must not go on: the person said yes to something else than what it would do now. */
export async function changedSince({ db, callId }: ToolContext, plan: string): Promise<ToolOutcome | null> {
  const agreed = await previewOfCall(db, callId);
  return agreed === null || agreed === plan
    ? null
    : no('The workspace has changed since the person was asked, so nothing was done. Look at it, and call again.');
}
