import { z } from 'zod';
import { shipWords } from '../../domain/chat/words/ship-words.ts';
import { undoWords } from '../../domain/chat/words/tool-words.ts';
import { cut } from '../../domain/text/storable.ts';
import {
  findSnapshot,
  listSnapshots,
  type Snapshot,
  workspaceAt,
  workspaceOfAddress,
} from '../../store/kennel/workspaces/workspaces.ts';
import { snapshotLimit, snapshotNotFound } from '../errors/errors.ts';
import { isId, requestKey, whole } from '../http/request.ts';
import { shipRequest } from './shared/bodies.ts';
import { endpoint } from './shared/endpoint.ts';
import { existingThread } from './threads/threads.ts';

const count = z.int().nonnegative();

/**
 * The API never runs git: the configuration of a repository can run programs. A host has asked git in a container, when
 * a tool last looked.
 */
export const getWorkspaceStatus = endpoint({
  method: 'GET',
  path: '/v1/workspace/status',
  summary: 'Read the state of the workspace: that of the folder of new threads, else the active one of the terminal',
  answer: {
    schema: z
      .object({
        workspace: z.string().describe('Its folder'),
        git_repo: z.boolean(),
        branch: z.string().nullable().describe('null: no branch is checked out'),
        head: z.string().nullable().describe('The short id of the commit'),
        dirty: z.boolean(),
        staged: count,
        unstaged: count,
        untracked: count,
        ahead: count.nullable(),
        behind: count.nullable().describe('null: the branch follows no other'),
        seen_at: z.iso
          .datetime()
          .meta({ pattern: undefined })
          .nullable()
          .describe('When this was so; null: nobody has looked yet'),
      })
      .meta({ id: 'WorkspaceStatus' }),
    what: 'Its state, as it was seen last.',
  },
  handle: async (_, { store, config }) => {
    const folder = config.FETCH_WORKSPACE ?? process.cwd();
    const found = (await workspaceAt(store.db, folder)) ?? (await workspaceOfAddress(store.db, 'console', 'terminal'));
    const git = found?.profile?.git;
    return {
      workspace: found?.path ?? folder,
      git_repo: git !== null && git !== undefined,
      branch: git?.branch ?? null,
      head: git?.head?.slice(0, 7) ?? null,
      dirty: git ? git.modified + git.untracked > 0 : false,
      staged: git?.staged ?? 0,
      unstaged: git?.unstaged ?? git?.modified ?? 0,
      untracked: git?.untracked ?? 0,
      ahead: git && git.upstream !== false ? git.ahead : null,
      behind: git && git.upstream !== false ? git.behind : null,
      seen_at: found?.profile ? found.seen_at.toISOString() : null,
    };
  },
});

const LABEL_CHARS = 80;
const LIMITS = { least: 1, usual: 20, most: 100 };

const snapshotRecord = z
  .object({
    id: z.string(),
    label: z.string(),
    timestamp: z.int().describe('Seconds since 1970'),
    workspace: z.string(),
    thread_id: z.string().describe('Where it was made, and where it is restored'),
  })
  .meta({ id: 'Snapshot' });

export const getSnapshots = endpoint({
  method: 'GET',
  path: '/v1/snapshots',
  summary: 'List states of workspaces that can be restored: before coding tasks, and before files that were edited',
  query: { limit: whole.describe(`From ${LIMITS.least} to ${LIMITS.most}; ${LIMITS.usual} when left out`) },
  answer: { schema: z.array(snapshotRecord), what: 'Snapshots, the newest first.' },
  refusals: { 400: 'The limit is out of range.' },
  handle: async ({ query: { limit = LIMITS.usual } }, { store }) => {
    if (limit < LIMITS.least || limit > LIMITS.most) throw snapshotLimit(LIMITS, limit);
    return (await listSnapshots(store.db, limit)).map(recordOf);
  },
});

/** What the reference server writes there is a turn; here tasks and edits are what undo takes back. */
const recordOf = ({ id, kind, what, workspace, thread_id, at }: Snapshot) => ({
  id,
  label: cut(`${kind === 'task' ? 'pre-task' : 'pre-edit'}: ${what.replace(/\s+/g, ' ')}`, LABEL_CHARS),
  timestamp: Math.floor(at.getTime() / 1000),
  workspace,
  thread_id,
});

/** A turn whose words say `undo` is the same as the words in the chat: consent, the host's queue, and `redo`. */
export const postSnapshotRestore = endpoint({
  method: 'POST',
  path: '/v1/snapshots/{id}/restore',
  summary: 'Take back what a task or an edit changed, as undo does; a body is ignored',
  answer: {
    status: 202,
    schema: z.object({ snapshot_id: z.string(), thread_id: z.string(), turn_id: z.string() }),
    what: 'The turn that does it. It may ask first, and says what came of it. `redo` in its thread takes it back.',
  },
  refusals: { 404: 'There is no such snapshot.', 409: 'A turn runs on its thread.' },
  handle: async ({ ctx, params: { id } }, { store, intake }) => {
    const snapshot = isId(id) ? await findSnapshot(store.db, id) : undefined;
    if (!snapshot) throw snapshotNotFound(id);
    const channelMessageId = requestKey(ctx, `restore ${id}`, null);
    const { turn } = await intake.startTurn({
      threadId: snapshot.thread_id,
      prompt: undoWords(snapshot),
      // a program's wish, which asks as its tool does
      call: { name: 'undo', args: { task: snapshot.id, workspace: snapshot.workspace } },
      channelMessageId,
    });
    return { snapshot_id: id, thread_id: snapshot.thread_id, turn_id: turn.id };
  },
});

/** A turn whose words say `ship` is the same as the words in the chat: consent, the host's queue, and its answers. */
export const postShip = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/ship',
  summary: 'Make a pull request of a workspace and watch it to its merge, or give an order about the one that is open',
  body: shipRequest,
  bodyOptional: true,
  answer: {
    status: 202,
    schema: z.object({ thread_id: z.string(), turn_id: z.string() }),
    what: 'The turn that does it. It may ask first, and says what came of it.',
  },
  refusals: { 404: 'There is no such thread.', 409: 'A turn runs on it.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    await existingThread(id, deps);
    const order = {
      action: body.action ?? ('start' as const),
      ...(body.title && { title: body.title }),
      ...(body.merge === 'green' && { merge: body.merge }),
      ...(body.workspace && { workspace: body.workspace }),
    };
    const { turn } = await deps.intake.startTurn({
      threadId: id,
      prompt: shipWords(order),
      // a program's wish, which asks as its tool does
      call: { name: 'ship', args: order },
      channelMessageId: requestKey(ctx, `ship ${id}`, body),
    });
    return { thread_id: id, turn_id: turn.id };
  },
});
