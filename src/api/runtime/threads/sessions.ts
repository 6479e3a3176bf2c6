import { z } from 'zod';
import { IntakeError } from '../../../gateway/intake/intake.ts';
import { countMessages } from '../../../store/chats/sessions/session-messages.ts';
import {
  listSessions,
  readSession,
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
import { blocksOf, metadataOf, savedSession, sessionMetadata, titleOf } from './session-view.ts';
import { existingThread, threadWorkspace } from './threads.ts';

/** Sessions: the same records as threads, as clients of the older session manager know them. */

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
