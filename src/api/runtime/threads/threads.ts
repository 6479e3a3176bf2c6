import { z } from 'zod';
import type { ThreadRecord } from '../../../contracts/records.ts';
import { thingsToTry } from '../../../domain/chat/words/help.ts';
import { chatKey } from '../../../store/chats/ids.ts';
import { createThread, getThread, listThreads, runningThreads } from '../../../store/chats/threads/threads.ts';
import { type ThreadChanges, threadDetail, updateThread } from '../../../store/turns/thread-detail.ts';
import type { ApiDeps } from '../../api-deps.ts';
import { ApiError, NO_THREAD_FIELD, notBlank, threadNotFound, workspaceInUse } from '../../errors/errors.ts';
import { flag, ID, isId, requestKey, whole } from '../../http/request.ts';
import { compactThreadRequest, createThreadRequest, given, updateThreadRequest } from '../shared/bodies.ts';
import { endpoint } from '../shared/endpoint.ts';
import { itemRecord, threadFields, threadRecord, turnRecord } from '../shared/record-schemas.ts';

const unknownThread = { 404: 'There is no such thread.' };

/** Every API thread is its own chat. */
export const postThread = endpoint({
  method: 'POST',
  path: '/v1/threads',
  summary: 'Create a thread',
  body: createThreadRequest,
  answer: { status: 201, schema: threadRecord, what: 'The thread; the same for the same Idempotency-Key.' },
  handle: async ({ ctx, body }, { store, config, chatSecret }) =>
    await createThread(store.db, {
      ...newApiThread(config, body),
      system_prompt: body.system_prompt ?? null,
      task_id: body.task_id ?? null,
      chatKey: (address) => chatKey(chatSecret ?? '', 'api', address),
      key: requestKey(ctx, 'thread', body),
    }),
});

export const getThreads = endpoint({
  method: 'GET',
  path: '/v1/threads',
  summary: 'List threads',
  query: { limit: whole.describe('All when left out'), include_archived: flag, archived_only: flag },
  answer: { schema: z.array(threadRecord), what: 'Threads, the newest first.' },
  handle: async ({ query }, { store }) =>
    await listThreads(store.db, {
      limit: query.limit,
      include_archived: query.include_archived ?? false,
      archived_only: query.archived_only ?? false,
    }),
});

export const getRunningThreads = endpoint({
  method: 'GET',
  path: '/v1/threads/running',
  summary: 'List threads whose turn runs, archived ones too',
  answer: { schema: z.array(threadRecord), what: 'Threads, the newest first. `latest_turn_id` is the turn.' },
  handle: async (_, { store }) => await runningThreads(store.db),
});

const threadDetailRecord = z
  .object({
    thread: threadRecord,
    turns: z.array(turnRecord),
    items: z.array(itemRecord),
    latest_seq: z.int().nonnegative().describe('Events after this one are newer than this answer'),
    pending_approvals: z.array(z.record(z.string(), z.unknown())),
    pending_user_inputs: z.array(z.record(z.string(), z.unknown())),
    more_before: z.string().optional().describe('Older turns were left out: `before` takes this'),
  })
  .meta({ id: 'ThreadDetail' });

export const getThreadDetail = endpoint({
  method: 'GET',
  path: '/v1/threads/{id}',
  summary: 'Read a thread with its turns and items',
  query: {
    last_turns: whole.describe(
      'At most so many of its turns; the whole thread when left out, as far as one answer holds it',
    ),
    before: z.string().regex(ID, 'not the id of a turn').describe('Only turns before this one'),
  },
  answer: { schema: threadDetailRecord, what: 'The thread, turns from old to new, and open questions.' },
  refusals: unknownThread,
  handle: async ({ params: { id }, query }, { store }) => {
    const detail = isId(id)
      ? await threadDetail(store.db, id, { lastTurns: query.last_turns, before: query.before })
      : null;
    if (!detail) throw threadNotFound(id);
    return detail;
  },
});

export const patchThread = endpoint({
  method: 'PATCH',
  path: '/v1/threads/{id}',
  summary: 'Change a thread',
  body: updateThreadRequest,
  answer: { schema: threadRecord, what: 'The thread. What it changes holds from the next turn on.' },
  refusals: { ...unknownThread, 400: 'No field is given, or one may not be blank, or the workspace is in use.' },
  handle: async ({ params: { id }, body }, { store }) => {
    const changes = changesIn(body);
    const updated = isId(id) ? await updateThread(store.db, id, changes) : null;
    if (!updated) throw threadNotFound(id);
    if (updated === 'busy') throw workspaceInUse(id);
    return updated;
  },
});

/** @throws ApiError 400 */
function changesIn({
  model,
  mode,
  title,
  system_prompt,
  ...others
}: z.output<typeof updateThreadRequest>): ThreadChanges {
  const named = { model, mode };
  for (const [field, value] of Object.entries(named)) if (value?.trim() === '') throw notBlank(field);
  const changes = {
    ...others,
    model: model?.trim(),
    mode: mode?.trim(),
    // not trimmed: clients get back what they set
    title: title?.trim() === '' ? null : (title ?? undefined),
    system_prompt: system_prompt?.trim() === '' ? null : (system_prompt ?? undefined),
  };
  const given = Object.entries(changes).filter(
    ([field, value]) => value !== undefined && (value !== null || field === 'title' || field === 'system_prompt'),
  );
  if (given.length === 0) throw new ApiError(400, NO_THREAD_FIELD);
  return Object.fromEntries(given);
}

export const getConsole = endpoint({
  method: 'GET',
  path: '/v1/console',
  summary: 'The thread of the terminal',
  answer: {
    schema: z
      .object({ ...threadFields, things_to_try: z.array(z.string()).describe('Messages that suit what is set up') })
      .meta({ id: 'ConsoleThread' }),
    what: 'The thread; it is made when there is none.',
  },
  handle: async (_, { intake }) => {
    const [thread, setUp] = await Promise.all([intake.consoleThread(), intake.setUp()]);
    return { ...thread, things_to_try: thingsToTry(setUp) };
  },
});

type ThreadSettings = Pick<
  z.output<typeof createThreadRequest>,
  'model' | 'workspace' | 'mode' | 'allow_shell' | 'trust_mode' | 'auto_approve' | 'archived'
>;

/** A thread of the API with what a request says of it; what it leaves out is as configured. */
export const newApiThread = (config: ApiDeps['config'], body: ThreadSettings) => ({
  channel: 'api' as const,
  model: given(body.model) ?? config.AGENT_MODEL ?? 'auto',
  // not trimmed or checked: clients store what they like here
  workspace: body.workspace ?? threadWorkspace(config),
  mode: given(body.mode) ?? 'agent',
  allow_shell: body.allow_shell ?? false,
  trust_mode: body.trust_mode ?? false,
  auto_approve: body.auto_approve ?? false,
  archived: body.archived,
  autonomy: config.FETCH_AUTONOMY,
});

/** What is told of settings that allow everything in the reference and nothing here. */
export const withoutEffect = ({
  mode,
  trust_mode,
  auto_approve,
}: Partial<Record<'mode', string | null> & Record<'trust_mode' | 'auto_approve', boolean | null>>):
  | string
  | undefined =>
  !auto_approve && (trust_mode || mode?.trim().toLowerCase() === 'yolo')
    ? 'The mode "yolo" and trust_mode have no effect here: what needs a yes is still asked. auto_approve allows it.'
    : undefined;

/** The folder of a thread that names none. */
export const threadWorkspace = ({ FETCH_WORKSPACE }: Pick<ApiDeps['config'], 'FETCH_WORKSPACE'>): string =>
  FETCH_WORKSPACE ?? process.cwd();

/** @throws ApiError 404 */
export async function existingThread(id: string, { store }: Pick<ApiDeps, 'store'>): Promise<ThreadRecord> {
  const thread = isId(id) ? await getThread(store.db, id) : null;
  if (!thread) throw threadNotFound(id);
  return thread;
}

export const postCompact = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/compact',
  summary: 'Sum up what was said before the last message, in a turn of its own',
  body: compactThreadRequest,
  answer: {
    status: 202,
    schema: z.object({ thread: threadRecord, turn: turnRecord }),
    what: 'The turn; the same for the same Idempotency-Key.',
  },
  refusals: { 404: 'There is no such thread.', 409: 'A turn runs on this thread.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    await existingThread(id, deps);
    return await deps.intake.compact({
      threadId: id,
      reason: given(body.reason),
      channelMessageId: requestKey(ctx, 'compact', body),
    });
  },
});
