import { z } from 'zod';
import { cut } from '../../../domain/text/storable.ts';
import { IntakeError } from '../../../gateway/intake/intake.ts';
import {
  countMessages,
  listSessions,
  readSession,
  type SessionDetail,
  type SessionFigures,
  type SessionMessage,
  type SessionRow,
  sessionFigures,
  sessionWithoutMessages,
} from '../../../store/chats/sessions/sessions.ts';
import { updateThread } from '../../../store/turns/thread-detail.ts';
import { activeTurn } from '../../../store/turns/turns.ts';
import { badSessionId, nothingToSave, sessionInUse, sessionNotFound, textRequired } from '../../errors/errors.ts';
import { sendEmpty } from '../../http/reply.ts';
import { isId, requestKey, whole } from '../../http/request.ts';
import { createSessionRequest, given, resumeSessionRequest } from '../shared/bodies.ts';
import { endpoint } from '../shared/endpoint.ts';
import { copyOf } from './copies.ts';
import { UNTITLED } from './summary.ts';
import { existingThread, threadWorkspace } from './threads.ts';

/** Sessions: the same records as threads, as clients of the older session manager know them. */

const time = () => z.iso.datetime();
const usd = () => z.number().nonnegative();
const none = () => z.literal(0).describe('No price is known in this currency');

const sessionMetadata = z
  .object({
    id: z.string().describe('Id of the thread'),
    title: z.string(),
    created_at: time(),
    updated_at: time(),
    message_count: z.int().nonnegative().describe('Texts, and results of tools'),
    total_tokens: z.int().nonnegative(),
    model: z.string(),
    workspace: z.string(),
    mode: z.string().nullable(),
    cost: z.object({
      session_cost_usd: usd(),
      session_cost_cny: none(),
      subagent_cost_usd: usd().describe('Of coding tasks'),
      subagent_cost_cny: none(),
      displayed_cost_high_water_usd: usd().describe('Both together'),
      displayed_cost_high_water_cny: none(),
    }),
    cumulative_turn_secs: z.int().nonnegative(),
    parent_session_id: z.string().optional().describe('The thread that it was copied from'),
  })
  .meta({ id: 'SavedSessionMetadata' });

const block = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({
      type: z.literal('tool_use'),
      id: z.string(),
      name: z.string(),
      input: z.record(z.string(), z.unknown()),
    }),
    z.object({ type: z.literal('tool_result'), tool_use_id: z.string(), content: z.string(), is_error: z.boolean() }),
  ])
  .meta({ id: 'SessionBlock' });

const message = z
  .object({ role: z.enum(['user', 'assistant']), content: z.array(block) })
  .meta({ id: 'SavedSessionMessage' });
type BlockMessage = z.output<typeof message>;

const savedSession = z
  .object({
    metadata: sessionMetadata,
    messages: z.array(message).describe('Since the conversation was begun or cleared; of more than 16 MB the newest'),
    system_prompt: z.string().nullable(),
  })
  .meta({ id: 'SavedSession' });

const TITLE_CHARS = 50;

const titleOf = ({ title, begun_with }: Pick<SessionRow, 'title' | 'begun_with'>): string =>
  cut(title ?? begun_with ?? UNTITLED, TITLE_CHARS);

const UNUSED: SessionFigures = { tokens: 0, micro_usd: 0, task_micro_usd: 0, seconds: 0 };

function metadataOf(
  row: Omit<SessionRow, 'messages'>,
  messages: number,
  figures: SessionFigures = UNUSED,
): z.output<typeof sessionMetadata> {
  const [own, tasks] = [figures.micro_usd / 1_000_000, figures.task_micro_usd / 1_000_000];
  return {
    id: row.id,
    title: titleOf(row),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    message_count: messages,
    total_tokens: figures.tokens,
    model: row.model,
    workspace: row.workspace,
    mode: row.mode,
    cost: {
      session_cost_usd: own,
      session_cost_cny: 0,
      subagent_cost_usd: tasks,
      subagent_cost_cny: 0,
      displayed_cost_high_water_usd: own + tasks,
      displayed_cost_high_water_cny: 0,
    },
    cumulative_turn_secs: Math.floor(figures.seconds),
    ...(row.forked_from !== null && { parent_session_id: row.forked_from }),
  };
}

/** A call stands in the message of the model step that made it, and its result in a message of its own after that. */
function blocksOf(messages: SessionDetail['messages']): BlockMessage[] {
  return [...Map.groupBy(messages, ({ ord }) => ord).values()].flatMap((step) => {
    const said = step
      .filter(({ call }) => call === null)
      .map(({ content }) => ({ type: 'text' as const, text: content }));
    const made = step.flatMap(({ call }) =>
      call ? [{ type: 'tool_use' as const, id: call.id, name: call.name, input: call.input }] : [],
    );
    return [
      { role: step[0]!.role === 'user' ? 'user' : 'assistant', content: [...said, ...made] } satisfies BlockMessage,
      ...step.flatMap(resultOf),
    ];
  });
}

const resultOf = ({ call, content }: SessionMessage): BlockMessage[] =>
  call ? [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content, is_error: !call.ok }] }] : [];

const USUALLY = 50;
const MOST = 500;

export const getSessions = endpoint({
  method: 'GET',
  path: '/v1/sessions',
  summary: 'List sessions: the threads of all channels',
  query: {
    limit: whole.describe(`${USUALLY} when left out, from 1 to ${MOST}`),
    search: z.string().describe('Part of a title, in any case'),
  },
  answer: { schema: z.object({ sessions: z.array(sessionMetadata) }), what: 'Sessions, latest activity first.' },
  handle: async ({ query }, { store: { db } }) => {
    const rows = await listSessions(db, Math.min(MOST, Math.max(1, query.limit ?? USUALLY)), query.search?.trim());
    const figures = await sessionFigures(
      db,
      rows.map(({ id }) => id),
    );
    return { sessions: rows.map((row) => metadataOf(row, row.messages, figures.get(row.id))) };
  },
});

const missing = { 400: 'That is no id of a session.', 404: 'There is no such session.' };

export const getSession = endpoint({
  method: 'GET',
  path: '/v1/sessions/{id}',
  summary: 'Read a session with its messages',
  answer: { schema: savedSession, what: 'The session.' },
  refusals: missing,
  handle: async ({ params: { id } }, deps) => {
    const session = await existingSession(id, (session) => readSession(deps.store.db, session));
    const [messages, figures] = await Promise.all([
      countMessages(deps.store.db, [id]),
      sessionFigures(deps.store.db, [id]),
    ]);
    return {
      metadata: metadataOf(session, messages.get(id) ?? 0, figures.get(id)),
      messages: blocksOf(session.messages),
      system_prompt: session.system_prompt,
    };
  },
});

export const deleteSession = endpoint({
  method: 'DELETE',
  path: '/v1/sessions/{id}',
  summary: 'Delete a session and erase its texts; the next message in its chat begins a new conversation',
  answer: { status: 204, what: 'The session is gone.' },
  refusals: { ...missing, 409: 'A turn or a coding task is at work in it.' },
  handle: async ({ ctx, params: { id } }, { intake }) => {
    if (!isId(id)) throw badSessionId(id);
    await intake.deleteSession(id).catch((error) => {
      throw error instanceof IntakeError && error.code === 'not_found' ? sessionNotFound(id) : error;
    });
    sendEmpty(ctx, 204);
  },
});

export const postSession = endpoint({
  method: 'POST',
  path: '/v1/sessions',
  summary: 'Save a thread as a session: it is one already, so this gives it a title',
  body: createSessionRequest,
  answer: {
    status: 201,
    schema: z.object({
      session_id: z.string(),
      thread_id: z.string(),
      message_count: z.int().nonnegative(),
      title: z.string(),
    }),
    what: 'The session, whose id is that of the thread.',
  },
  refusals: {
    400: 'Nothing was said in the thread.',
    404: 'There is no such thread.',
    409: 'A turn runs on this thread.',
  },
  handle: async ({ body }, deps) => {
    const { db } = deps.store;
    const id = body.thread_id;
    if (id.trim() === '') throw textRequired('thread_id');
    await existingThread(id, deps);
    if (await activeTurn(db, id)) throw sessionInUse(id);
    const count = (await countMessages(db, [id])).get(id) ?? 0;
    if (count === 0) throw nothingToSave(id);
    const title = given(body.title);
    if (title !== undefined) await updateThread(db, id, { title });
    return {
      session_id: id,
      thread_id: id,
      message_count: count,
      title: titleOf(await existingSession(id, (session) => sessionWithoutMessages(db, session))),
    };
  },
});

export const postResumeThread = endpoint({
  method: 'POST',
  path: '/v1/sessions/{id}/resume-thread',
  summary: 'Go on with a session in a new thread, which has all that was said and done in it',
  body: resumeSessionRequest,
  answer: {
    status: 201,
    schema: z.object({
      thread_id: z.string(),
      session_id: z.string(),
      message_count: z.int().nonnegative(),
      summary: z.string(),
    }),
    what: 'The new thread; the same for the same Idempotency-Key.',
  },
  refusals: { ...missing, 400: 'That is no id of a session, or it is a group chat, whose words stay there.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    const session = await existingSession(id, (session) => sessionWithoutMessages(deps.store.db, session));
    const thread = await copyOf(deps, {
      source: id,
      // what a session allows without asking ends with it
      settings: ({ model, mode, system_prompt }) => ({
        model: given(body.model) ?? model,
        mode: given(body.mode) ?? mode,
        system_prompt,
        workspace: threadWorkspace(deps.config),
        allow_shell: false,
        trust_mode: false,
        auto_approve: false,
      }),
      key: requestKey(ctx, `resume ${id}`, body),
      announce: (tx, copied) =>
        tx.append(
          { event: 'thread.started', payload: { thread: copied.made } },
          { event: 'thread.updated', payload: { thread: copied.thread, reason: 'session_resume' } },
        ),
    });
    const count = (await countMessages(deps.store.db, [id])).get(id) ?? 0;
    const summary = `Resumed session '${titleOf(session)}' (${count} messages) into thread ${thread.id}`;
    return { thread_id: thread.id, session_id: id, message_count: count, summary };
  },
});

/** @throws ApiError 400 for what is no id, 404 */
async function existingSession<Session>(id: string, read: (id: string) => Promise<Session | null>): Promise<Session> {
  if (!isId(id)) throw badSessionId(id);
  const session = await read(id);
  if (!session) throw sessionNotFound(id);
  return session;
}

/** A session as clients of the older session manager know it: a thread with its messages as blocks. */
