import { z } from 'zod';
import { fullName, type RepositoryName } from '../../adapters/github/remote.ts';
import {
  accountOf,
  createRepository,
  findRepository,
  isEmpty,
  type Repository,
} from '../../adapters/github/repositories.ts';
import { intentOf, noteIntent } from '../../store/kennel/workspaces/call-output.ts';
import { defineTool, named, type ToolContext, type ToolOutcome } from '../tool.ts';
import {
  changeWorkspace,
  inWorkspace,
  type Opened,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from '../workspace/in-workspace.ts';
import { retriedWithToken, writeAccess } from './access.ts';
import { pushBranch } from './bundle.ts';
import { branchOf, isOutcome } from './workspace-repository.ts';

/** `workspace_publish`: makes a repository on GitHub for a workspace. */

export const publishTool = defineTool({
  name: 'workspace_publish',
  family: 'github',
  effect: 'idempotent',
  runsIn: 'kennel',
  timeoutMs: WITH_IMAGE_MS,
  danger: 'MODERATE',
  reads: ['command'],
  sends: ['publish'],
  asksAlways: (args) => args.isPublic,
  description: 'Make a GitHub repository for a workspace that has none and push all commits.',
  schema: z.strictObject({
    name: workspaceArgument,
    description: text(256).default('').describe('Of the new repository'),
    isPublic: z.boolean().default(false).describe('Anybody can read it'),
  }),
  preview: async ({ name, isPublic }, context) =>
    (
      await inWorkspace(context, name, async (at) => {
        const git = await branchOf(context, at);
        if (isOutcome(git)) return git;
        return {
          ok: true,
          output: `Make the ${isPublic ? 'PUBLIC' : 'private'} repository ${at.name} on GitHub and push every commit of the workspace to it`,
        };
      })
    ).output,
  workspaceOf: (args) => args.name,
  asks: ({ name, isPublic }, at, say) =>
    say(isPublic ? 'ask.publish' : 'ask.publishPrivately', { at: name ? say('ask.named', { name: named(name) }) : at }),
  run: (args, context) =>
    retriedWithToken(context, () => changeWorkspace(context, args.name, (at) => publish(context, at, args))),
});

/** Publishes a new workspace. A failure is reported and leaves the workspace unchanged. */
export async function publishNew(context: ToolContext, at: Opened, about: string): Promise<ToolOutcome> {
  const published = await retriedWithToken(context, () =>
    publish(context, at, { description: about, isPublic: false }),
  ).catch((error: Error): ToolOutcome => {
    if (context.signal.aborted) throw error;
    return { ok: false, output: error.message };
  });
  return published.ok
    ? published
    : { ok: false, output: `It is not on GitHub: ${published.output} workspace_publish tries again.` };
}

interface Publication {
  description: string;
  isPublic: boolean;
}

async function publish(context: ToolContext, at: Opened, { description, isPublic }: Publication): Promise<ToolOutcome> {
  const git = await branchOf(context, at);
  if (isOutcome(git)) return git;
  const intent = await intentOf(context.db, context.callId);
  // an earlier attempt may have recorded the remote already
  if (git.remote !== null && intent?.repository === undefined)
    return { ok: false, output: `${at.name} has a remote already (${git.remote}). workspace_sync pushes to it.` };
  if (git.head === null)
    return { ok: false, output: `${at.name} has no commit yet, so there is nothing to publish. Commit first.` };
  const made = await makeRepository(context, at.name, description, isPublic);
  if (isOutcome(made)) return made;
  const pushed = await pushBranch(context, at, { branch: git.branch, repository: made, everything: true });
  if ('why' in pushed)
    return {
      ok: false,
      output: `The repository ${shownUrl(made)} was made, but the commits are not there: ${pushed.why}`,
      metadata: { url: made.htmlUrl },
    };
  return {
    ok: true,
    output: `Published ${at.name} to ${shownUrl(made)} (${made.private ? 'private' : 'public'})`,
    metadata: {
      workspace: at.name,
      url: made.htmlUrl,
      repository: fullName(made),
      private: made.private,
      branch: git.branch,
      head: pushed.head,
    },
  };
}

/**
 * A new repository of the account, or the one that an earlier attempt made: known by its record, or because nothing was
 * ever pushed to it.
 */
export async function makeRepository(
  context: ToolContext,
  name: string,
  description: string,
  isPublic: boolean,
): Promise<Repository | ToolOutcome> {
  const { db, callId } = context;
  const access = writeAccess(context);
  const intent = await intentOf(db, callId);
  const noted = intent?.repository as RepositoryName | undefined;
  const before = noted && (await findRepository(access, noted));
  if (before) return before;
  const made = await createRepository(access, { name, description, private: !isPublic });
  const owner = made?.owner ?? (await accountOf(access));
  const there = made ?? (await findRepository(access, { owner, name }));
  if (!there || (!made && (there.private === isPublic || !(await isEmpty(access, there)))))
    return {
      ok: false,
      output: `GitHub has a repository ${owner}/${name} already, and it is not an empty one. Choose another name for the workspace, or push to it by hand.`,
    };
  await noteIntent(db, callId, { ...intent, repository: { owner: there.owner, name: there.name } });
  return there;
}

export const shownUrl = ({ htmlUrl }: Repository): string => htmlUrl.replace(/^https?:\/\//, '');
