import { z } from 'zod';
import { pictureFor } from '../../adapters/pictures.ts';
import { KEY, type WorkspaceAnswer } from '../../contracts/workspace-ops.ts';
import { signedOff } from '../../domain/chat/words/sign-off.ts';
import { captionOf } from '../../domain/tasks/report.ts';
import { branchProblem } from '../../domain/tasks/workspace-names.ts';
import { diffPages, PHONE_WIDTH } from '../../domain/text/diff-picture.ts';
import { conversationOf } from '../../store/chats/conversation-start.ts';
import { attachmentId, saveAttachment } from '../../store/chats/messages/attachments.ts';
import { findTask, taskNumbers } from '../../store/kennel/tasks/tasks.ts';
import { intentOf, noteIntent } from '../../store/kennel/workspaces/call-output.ts';
import { signatureOf } from '../../store/kennel/workspaces/signatures.ts';
import { defineTool, named, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { commandAtWork, keyOf } from './direct-edit.ts';
import {
  AUTHOR,
  atWork,
  changeWorkspace,
  inWorkspace,
  type Opened,
  operate,
  outcomeOf,
  pathArgument,
  previewOf,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from './in-workspace.ts';

/**
 * Git in a workspace. It runs in a container, so that hooks, filters and settings of the repository reach nothing else.
 */

const common = { effect: 'idempotent', runsIn: 'kennel', timeoutMs: WITH_IMAGE_MS } as const;

const branchName = text(200).refine((name) => branchProblem(name) === null, 'is not a name for a branch');
/** A commit, branch or tag, HEAD~2 and the like; never an option. */
const revision = text(200).refine(
  (name) => /^[^-\s][^\s]*$/.test(name) && !name.includes('..'),
  'must be a commit, a branch or a tag',
);

/** Pictures of a difference, one for each file; null when none can be taken. */
async function picturesOfDiff({ ok, output }: WorkspaceAnswer, context: ToolContext): Promise<ToolOutcome | null> {
  const { browsers, callId, threadId, db, config, signal } = context;
  const { pages, left } = diffPages(output);
  if (!ok || pages.length === 0 || !browsers || config.FETCH_BROWSER_SLOTS === 0) return null;
  if (!(await browsers.isBuilt())) return null;
  const owner = {
    key: `${callId}/pictures`,
    conversation: await conversationOf(db, threadId),
    rules: async () => [],
    apps: () => {
      throw new Error('A picture of a difference needs no app.');
    },
  };
  const drawn = pages.map(({ html }) => ({ html, width: PHONE_WIDTH }));
  const taken = await browsers.picturesOf(owner, { workspace: null }, drawn, signal);
  const lines: string[] = [];
  for (const [at, { path }] of pages.entries()) {
    const data = taken[at];
    if (!data) continue;
    const id = attachmentId(callId, 'diff', String(at));
    const preview = await pictureFor(data);
    const file = {
      id,
      threadId,
      kind: 'image',
      mime: 'image/png',
      name: 'diff.png',
      data,
      preview,
      text: null,
    } as const;
    await saveAttachment(db, file);
    lines.push(`![${captionOf(path)}](attachment:${id})`);
  }
  if (lines.length === 0) return null;
  const more = left > 0 ? [`${left} more ${left === 1 ? 'file differs' : 'files differ'}.`] : [];
  return { ok: true, output: [...lines, ...more].join('\n') };
}

export const gitTools: Tool[] = [
  defineTool({
    ...common,
    name: 'git_status',
    family: 'git',
    reads: ['command'],
    sends: [],
    description: 'Show the branch and what changed since the last commit.',
    danger: 'SAFE',
    schema: z.strictObject({ workspace: workspaceArgument }),
    run: ({ workspace }, context) =>
      inWorkspace(
        context,
        workspace,
        async (at) => outcomeOf(await operate(at, { op: 'git-status' }, context), at),
        {},
      ),
  }),
  defineTool({
    ...common,
    name: 'git_diff',
    family: 'git',
    reads: ['command'],
    sends: [],
    description:
      'Show what is not committed, what is staged, or all since a commit, branch or tag (against). picture: for a phone.',
    danger: 'SAFE',
    schema: z.strictObject({
      path: pathArgument(false).optional(),
      staged: z.boolean().default(false),
      against: revision.optional(),
      picture: z.boolean().default(false),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, picture, ...args }, context) =>
      inWorkspace(
        context,
        workspace,
        async (at) => {
          const compared = await operate(at, { op: 'git-diff', ...args }, context);
          if (!picture || !compared.ok) return outcomeOf(compared, at);
          const isSame = compared.data?.length === 0 && !args.staged && args.against === undefined;
          const last = isSame ? await operate(at, { op: 'git-diff', ...args, against: 'HEAD~1' }, context) : compared;
          return (await picturesOfDiff(last, context)) ?? outcomeOf(last, at);
        },
        {},
      ),
  }),
  defineTool({
    ...common,
    name: 'git_log',
    family: 'git',
    reads: ['command'],
    sends: [],
    description: 'List the latest commits of the current branch.',
    danger: 'SAFE',
    schema: z.strictObject({ limit: z.int().min(1).max(200).default(20), workspace: workspaceArgument }),
    run: ({ workspace, limit }, context) =>
      inWorkspace(
        context,
        workspace,
        async (at) => outcomeOf(await operate(at, { op: 'git-log', limit }, context), at),
        {},
      ),
  }),
  defineTool({
    ...common,
    name: 'git_commit',
    family: 'git',
    reads: ['command'],
    sends: [],
    description: 'Commit all changes, new files included, or only those of the given paths.',
    danger: 'MODERATE',
    schema: z.strictObject({
      message: text(2000).trim().min(1),
      paths: z.array(pathArgument(true)).min(1).max(500).optional(),
      workspace: workspaceArgument,
    }),
    preview: async ({ workspace, message }, context) =>
      `Commit "${message.split('\n')[0]}"\n\n${await previewOf(context, workspace, { op: 'git-status' })}`,
    asks: (args, at, say) => say('ask.commit', { message: named(args.message.split('\n')[0]), at }),
    run: ({ workspace, message, paths }, context) => commit(context, workspace, message, paths),
  }),
  defineTool({
    ...common,
    name: 'git_branch',
    family: 'git',
    reads: ['command'],
    sends: [],
    description: 'List branches, create one from the current commit and switch to it, or switch to another.',
    danger: 'MODERATE',
    schema: z
      .strictObject({
        action: z.enum(['list', 'create', 'switch']).default('list'),
        name: branchName.optional(),
        workspace: workspaceArgument,
      })
      .refine((args) => args.action === 'list' || args.name !== undefined, {
        message: 'create and switch need a name',
        path: ['name'],
      }),
    inQuestion: ['action'],
    asks: ({ action, name }, at, say) =>
      action === 'list'
        ? say('ask.branches', { at })
        : say(action === 'create' ? 'ask.newBranch' : 'ask.toBranch', { name: named(name), at }),
    run: ({ workspace, action, name }, context) => branch(context, workspace, action, name),
  }),
  defineTool({
    ...common,
    name: 'undo',
    family: 'git',
    reads: ['command'],
    sends: [],
    description:
      'Take back the last coding task, or the edits and commands of the last turn that made any (one), everything (all), or one task by its id; redo takes back the last undo. The person’s own work in between is kept.',
    danger: 'MODERATE',
    schema: z.strictObject({
      what: z.enum(['one', 'all', 'redo']).default('one'),
      task: z.string().regex(KEY).optional().describe('tsk_…, also for one on a branch of its own'),
      workspace: workspaceArgument,
    }),
    summarise: (args) => args.task ?? args.what,
    inQuestion: ['what'],
    asks: ({ what }, at, say) =>
      say(({ redo: 'ask.redo', all: 'ask.undoAll', one: 'ask.undo' } as const)[what], { at }),
    run: ({ workspace, what, task }, context) =>
      changeWorkspace(context, workspace, async (at) => {
        const key = task && what === 'one' ? await keyOfTask(context, at, task) : undefined;
        if (typeof key === 'object') return key;
        const busy = commandAtWork(at) ?? (await atWork(context, at));
        return (
          busy ??
          outcomeOf(
            await operate(
              at,
              { op: 'undo', what, ...(key && { task: key }), author: AUTHOR, key: keyOf(context.callId) },
              context,
            ),
            at,
          )
        );
      }),
  }),
];

/** The id of a task that a person calls by its number; other keys are given back as they are. */
async function keyOfTask({ db, chatId }: ToolContext, at: Opened, task: string): Promise<string | ToolOutcome> {
  if (!/^\d+$/.test(task)) return task;
  const [id] = [...(await taskNumbers(db, chatId))].find(([, number]) => number === Number(task)) ?? [];
  const found = id === undefined ? undefined : await findTask(db, id);
  if (!found) return { ok: false, output: `There is no task ${task} in this chat. \`tasks\` lists them.`, ours: true };
  return found.workspace === at.name
    ? found.id
    : { ok: false, output: `Task ${task} worked in ${found.workspace}. Say "undo ${task} in ${found.workspace}".` };
}

/** Commits. If there is nothing to commit and an earlier attempt recorded that it would, its commit is in the log. */
const commit = (
  context: ToolContext,
  workspace: string | undefined,
  message: string,
  paths: string[] | undefined,
): Promise<ToolOutcome> =>
  changeWorkspace(
    context,
    workspace,
    async (at) => {
      const again = (await intentOf(context.db, context.callId)) !== null;
      await noteIntent(context.db, context.callId, { commits: message });
      const by = await signatureOf(context.db, context.chatId);
      const answer = await operate(
        at,
        { op: 'git-commit', message: signedOff(message, by), ...(paths && { paths }), author: by ?? AUTHOR },
        context,
      );
      if (answer.ok || !again) return outcomeOf(answer, at);
      const log = await operate(at, { op: 'git-log', limit: 1 }, context);
      return outcomeOf(
        log.ok && log.output.includes(message.split('\n')[0]!)
          ? { ...log, output: `Committed.\n${log.output}` }
          : answer,
        at,
      );
    },
    { changes: 'all' },
  );

const branch = (
  context: ToolContext,
  workspace: string | undefined,
  action: 'list' | 'create' | 'switch',
  name: string | undefined,
): Promise<ToolOutcome> =>
  changeWorkspace(
    context,
    workspace,
    async (at) => {
      const busy = action === 'list' ? null : await atWork(context, at);
      if (busy) return busy;
      const again = action === 'create' && (await intentOf(context.db, context.callId)) !== null;
      if (action === 'create') await noteIntent(context.db, context.callId, { creates: name });
      const answer = await operate(at, { op: 'git-branch', action, ...(name !== undefined && { name }) }, context);
      // the branch exists: the attempt before made it, and may have died before it switched
      return outcomeOf(
        !answer.ok && again ? await operate(at, { op: 'git-branch', action: 'switch', name }, context) : answer,
        at,
      );
    },
    { changes: 'all' },
  );
