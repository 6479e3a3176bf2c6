import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { Context } from 'koa';
import {
  answerRequest,
  clientOf,
  McpError,
  type Offer,
  type Resource,
  toolRequest,
} from '../../../adapters/mcp/serving/protocol.ts';
import {
  isProgramThread,
  outcomeOfTurn,
  programThreads,
  sessionThreads,
} from '../../../store/chats/sessions/program-sessions.ts';
import { listWorkspaces } from '../../../store/kennel/workspaces/workspaces.ts';
import { threadDetail, updateThread } from '../../../store/turns/thread-detail.ts';
import { activeTurn } from '../../../store/turns/turns.ts';
import { ApiError } from '../../errors/errors.ts';
import { sendEmpty, sendJson } from '../../http/reply.ts';
import type { RuntimeDeps } from '../shared/endpoint.ts';
import { begin, CHAT_KEYS, cancelRequest, stop } from './begin.ts';
import { callStream } from './call-stream.ts';
import { takeForm } from './forms.ts';
import { offeredTools } from './offered.ts';
import { cursorOf, type Message, newSessionId, type ProgramSession, type StreamCursor, sessionOf } from './wire.ts';

/**
 * The SDK's transport keeps sessions and streams in the memory of one process. Here a session is its id and a stream is
 * the log of a thread, so both outlive the process.
 */

const SESSION_HEADER = 'Mcp-Session-Id';
const VERSION_HEADER = 'Mcp-Protocol-Version';
/** What a client speaks that does not say it. */
const OLDER = '2025-03-26';

const INSTRUCTIONS =
  'Fetch works on the projects of its owner, in workspaces: name one with the argument "workspace". Actions that need approval ask the owner. Calls continue after a disconnect: call_result gives the result of one that had to wait.';

const offerOf = (deps: RuntimeDeps): Offer => ({
  instructions: INSTRUCTIONS,
  tools: () => offeredTools(deps.config.FETCH_MCP_SERVER_TOOLS),
  resources: () => resources(deps),
  read: (uri) => readResource(deps, uri),
});

/** A request, a notification, or a response to one of our forms. */
export async function post(ctx: Context, body: Message, deps: RuntimeDeps): Promise<void> {
  const { id, method, params } = body;
  if (method === 'initialize' && id !== undefined) return await initialize(ctx, body, deps);
  const session = await requiredSession(ctx, deps);
  if (method !== undefined && id !== undefined) {
    if (method === 'tools/call') return await callTool(ctx, { ...body, id }, session, deps);
    return sendJson(ctx, 200, await answerRequest(offerOf(deps), body));
  }
  const cancelled = method === 'notifications/cancelled' ? params?.requestId : undefined;
  if (typeof cancelled === 'string' || typeof cancelled === 'number') await cancelRequest(deps, session, cancelled);
  if (method === undefined) await takeForm(deps, { id, result: body.result });
  sendEmpty(ctx, 202);
}

/** Goes on with a stream, at any process that the client reaches. */
export async function resume(ctx: Context, deps: RuntimeDeps): Promise<void> {
  const session = await requiredSession(ctx, deps);
  const last = ctx.get('last-event-id');
  if (last === '')
    throw new ApiError(405, 'This server never speaks unasked; Last-Event-ID goes on with the stream of a call');
  const cursor = cursorOf(last);
  if (!cursor || !(await isOfProgram(deps, cursor))) throw new ApiError(400, 'Last-Event-ID is not one of this server');
  stream(ctx, deps, session, cursor);
}

/** Ends a session: stops what it runs, and puts its threads away. */
export async function end(ctx: Context, deps: RuntimeDeps): Promise<void> {
  const { address } = await requiredSession(ctx, deps);
  for (const { id } of await sessionThreads(deps.store.db, address)) {
    const turn = await activeTurn(deps.store.db, id);
    if (turn) await stop(deps.intake, id, turn.id);
    await updateThread(deps.store.db, id, { archived: true });
  }
  sendEmpty(ctx, 204);
}

async function initialize(ctx: Context, body: Message, deps: RuntimeDeps): Promise<void> {
  const answer = await answerRequest(offerOf(deps), body);
  const client = clientOf(body);
  if (client && 'result' in answer) ctx.set(SESSION_HEADER, newSessionId(client));
  sendJson(ctx, 200, answer);
}

/** @throws ApiError 400, 404 */
async function requiredSession(ctx: Context, { store }: RuntimeDeps): Promise<ProgramSession> {
  const id = ctx.get(SESSION_HEADER);
  if (id === '') throw new ApiError(400, `${SESSION_HEADER} is missing: begin with initialize`);
  const session = sessionOf(id);
  if (!session || (await sessionThreads(store.db, session.address)).some(({ archived }) => archived))
    throw new ApiError(404, 'There is no such session');
  return session;
}

async function callTool(
  ctx: Context,
  body: Message & { id: string | number },
  session: ProgramSession,
  deps: RuntimeDeps,
): Promise<void> {
  const requestId = body.id;
  try {
    const request = toolRequest(body);
    const begun = await begin(deps, { session, requestId, request, signal: gone(ctx, deps) });
    if ('answer' in begun) return sendJson(ctx, 200, { jsonrpc: '2.0', id: requestId, result: begun.answer });
    stream(ctx, deps, session, { ...begun, requestId, progressToken: request.progressToken });
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    sendJson(ctx, 200, { jsonrpc: '2.0', id: requestId, error: { code: error.code, message: error.message } });
  }
}

function stream(ctx: Context, deps: RuntimeDeps, session: ProgramSession, cursor: StreamCursor): void {
  ctx.status = 200;
  ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
  ctx.req.socket.setNoDelay(true);
  ctx.body = Readable.from(callStream(deps, session, cursor, ctx.get(VERSION_HEADER) || OLDER, gone(ctx, deps)));
}

/** Aborts when the client has left, or this process is about to. A call goes on either way. */
function gone(ctx: Context, { stopping }: RuntimeDeps): AbortSignal {
  const left = new AbortController();
  ctx.res.once('close', () => left.abort(new ApiError(503, 'The client has left')));
  return stopping ? AbortSignal.any([left.signal, stopping]) : left.signal;
}

/** A turn in a thread of a program. */
async function isOfProgram({ store }: RuntimeDeps, { threadId, turnId }: StreamCursor): Promise<boolean> {
  return (await outcomeOfTurn(store.db, turnId))?.threadId === threadId && (await isProgramThread(store.db, threadId));
}

const SESSION = 'deepseek://session/';
const MOST = 100;
const READ_TURNS = 50;

/** The folders of the workspaces, and the conversations that programs began. Chats of people are not among them. */
export async function resources({ store }: RuntimeDeps): Promise<Resource[]> {
  const [workspaces, threads] = await Promise.all([
    listWorkspaces(store.db),
    programThreads(store.db, CHAT_KEYS, MOST),
  ]);
  return [
    ...workspaces.map(({ name, path, host }) => ({
      uri: pathToFileURL(path).href,
      name,
      description: `Workspace on ${host}; its files are read with file_read`,
    })),
    ...threads.map(({ id, title }) => ({ uri: SESSION + id, name: title ?? id, mimeType: 'text/plain' })),
  ];
}

/** Null when there is no such resource. */
export async function readResource(
  { store }: RuntimeDeps,
  uri: string,
): Promise<{ text: string; mimeType: string } | null> {
  if (uri.startsWith(SESSION)) {
    const id = uri.slice(SESSION.length);
    const detail = (await isProgramThread(store.db, id))
      ? await threadDetail(store.db, id, { lastTurns: READ_TURNS })
      : null;
    const said = detail?.items.filter(({ kind }) => kind === 'user_message' || kind === 'agent_message');
    return said
      ? {
          text: said
            .map(
              ({ kind, detail, summary }) => `${kind === 'user_message' ? 'user' : 'assistant'}: ${detail ?? summary}`,
            )
            .join('\n\n'),
          mimeType: 'text/plain',
        }
      : null;
  }
  const workspace = (await listWorkspaces(store.db)).find(({ path }) => pathToFileURL(path).href === uri);
  return workspace
    ? {
        text: `The workspace ${workspace.name}. Use file_list and file_read with workspace "${workspace.name}".`,
        mimeType: 'text/plain',
      }
    : null;
}
