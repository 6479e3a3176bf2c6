import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { z } from 'zod';
import { answerRequest, clientOf, McpError, toolRequest } from '../../../adapters/mcp/serving/protocol.ts';
import { IntakeError } from '../../../intake/intake.ts';
import { isProgramThread, outcomeOfTurn, sessionThreads } from '../../../store/chats/program-sessions.ts';
import { updateThread } from '../../../store/chats/update-thread.ts';
import { activeTurn } from '../../../store/turns/turns.ts';
import { ApiError } from '../../errors/errors.ts';
import { sendEmpty, sendJson } from '../../http/reply.ts';
import { endpoint, type RuntimeDeps } from '../endpoint.ts';
import { callStream } from './call-stream.ts';
import { takeForm } from './forms.ts';
import { cursorOf, newSessionId, type ProgramSession, type StreamCursor, sessionOf } from './session-id.ts';

/**
 * MCP over streamable HTTP. The SDK's transport keeps sessions and streams in the memory of one process. Here a session is its id and a stream is the log of a
 * thread, so that both outlive the process. Every message is one JSON object; batches, which newer versions of the protocol have dropped, are refused.
 */

const SESSION_HEADER = 'Mcp-Session-Id';
const VERSION_HEADER = 'Mcp-Protocol-Version';
/** What a client speaks that does not say it. */
const OLDER = '2025-03-26';

const message = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string().max(200), z.number()]).optional(),
    method: z.string().optional(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'McpMessage', examples: [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }] });
type Message = z.output<typeof message>;

const sessionRefusals = { 404: 'The session is over, or was never begun: begin a new one.' };

export const postMcp = endpoint({
  method: 'POST',
  path: '/mcp',
  summary: 'A message of an MCP client',
  body: message,
  answer: {
    written: { type: 'text/event-stream', schema: message, or: 'application/json' },
    what: 'The result of a call, with what comes before it. Every other request is answered by one message as application/json.',
  },
  refusals: { ...sessionRefusals, 202: { what: 'A notification or a response is taken.', schema: null } },
  handle: async ({ ctx, body }, deps) => {
    const { id, method, params } = body;
    if (method === 'initialize' && id !== undefined) return await initialize(ctx, body, deps);
    const session = await requiredSession(ctx, deps);
    if (method === undefined) {
      await takeForm(deps, { id, result: body.result });
      return sendEmpty(ctx, 202);
    }
    if (id === undefined) {
      const given = method === 'notifications/cancelled' ? params?.requestId : undefined;
      if (typeof given === 'string' || typeof given === 'number') await (await import('./begin.ts')).cancelRequest(deps, session, given);
      return sendEmpty(ctx, 202);
    }
    if (method === 'tools/call') return await callTool(ctx, { ...body, id }, session, deps);
    sendJson(ctx, 200, await answerRequest(await offerOf(deps), body));
  },
});

export const getMcp = endpoint({
  method: 'GET',
  path: '/mcp',
  summary: 'Go on with the stream of a call that broke',
  answer: { written: { type: 'text/event-stream', schema: message }, what: 'What comes after the event that Last-Event-ID names.' },
  refusals: { ...sessionRefusals, 400: 'Last-Event-ID is not one of ours.', 405: 'Without Last-Event-ID: this server never speaks unasked.' },
  handle: async ({ ctx }, deps) => {
    const session = await requiredSession(ctx, deps);
    const last = ctx.get('last-event-id');
    if (last === '') throw new ApiError(405, 'This server never speaks unasked; Last-Event-ID goes on with the stream of a call');
    const cursor = cursorOf(last);
    if (!cursor || !(await isOfProgram(deps, cursor))) throw new ApiError(400, 'Last-Event-ID is not one of this server');
    stream(ctx, deps, session, cursor);
  },
});

export const deleteMcp = endpoint({
  method: 'DELETE',
  path: '/mcp',
  summary: 'End the session of an MCP client; what it runs is stopped',
  answer: { status: 204, what: 'It is over.' },
  refusals: sessionRefusals,
  handle: async ({ ctx }, deps) => {
    const { address } = await requiredSession(ctx, deps);
    for (const { id } of await sessionThreads(deps.store.db, address)) {
      const turn = await activeTurn(deps.store.db, id);
      if (turn)
        await deps.intake.interrupt({ threadId: id, turnId: turn.id, channelMessageId: `mcp stop ${turn.id}` }).catch((error) => {
          // it has ended meanwhile
          if (!(error instanceof IntakeError)) throw error;
        });
      await updateThread(deps.store.db, id, { archived: true });
    }
    sendEmpty(ctx, 204);
  },
});

async function initialize(ctx: Context, body: Message, deps: RuntimeDeps): Promise<void> {
  const answer = await answerRequest(await offerOf(deps), body);
  const client = clientOf(body);
  if (client && 'result' in answer) ctx.set(SESSION_HEADER, newSessionId(client));
  sendJson(ctx, 200, answer);
}

/** @throws ApiError 400, 404 */
async function requiredSession(ctx: Context, { store }: RuntimeDeps): Promise<ProgramSession> {
  const id = ctx.get(SESSION_HEADER);
  if (id === '') throw new ApiError(400, `${SESSION_HEADER} is missing: begin with initialize`);
  const session = sessionOf(id);
  if (!session || (await sessionThreads(store.db, session.address)).some(({ archived }) => archived)) throw new ApiError(404, 'There is no such session');
  return session;
}

async function callTool(ctx: Context, body: Message & { id: string | number }, session: ProgramSession, deps: RuntimeDeps): Promise<void> {
  const requestId = body.id;
  try {
    const request = toolRequest(body);
    const { begin } = await import('./begin.ts');
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

const INSTRUCTIONS =
  'Fetch works on the projects of its owner, in workspaces: name one with the argument "workspace". What a person must allow is asked of the owner first. Calls outlive this connection: call_result gives the result of one that had to wait.';

/** The tools are loaded when the first program asks for them: most instances serve none. */
async function offerOf(deps: RuntimeDeps) {
  return {
    instructions: INSTRUCTIONS,
    tools: async () => (await import('./offered.ts')).offeredTools(deps.config.FETCH_MCP_SERVER_TOOLS),
    resources: async () => (await import('./resources.ts')).resources(deps),
    read: async (uri: string) => (await import('./resources.ts')).readResource(deps, uri),
  };
}
