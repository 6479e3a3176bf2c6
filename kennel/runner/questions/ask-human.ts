import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Sanitiser } from '../log/sanitiser.ts';
import { ResultStream, type RpcId, receiveRequest, refuse, sendError, sendResult } from './json-rpc.ts';
import type { PendingQuestions, Reply } from './pending-questions.ts';

/** Name of the MCP server in a session: agents show the tool as `mcp__fetch__ask_human` or the like. */
export const MCP_SERVER = 'fetch';
export const ASK_TOOL = 'ask_human';
/** ms between progress notifications: some clients give up a call after 60 s without one */
const PROGRESS = 5000;
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

const PARKED =
  'There is no answer yet, and it may take hours. Finish what can be finished without it and then stop; do not guess the answer and do not ask again. The answer will come with the next message.';

const TOOL = {
  name: ASK_TOOL,
  title: 'Ask the person',
  description:
    'Ask the person who gave you this task a question and wait for the answer. Use it when a decision is theirs or something is unclear that you cannot find out yourself; the answer may take a while.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', description: 'One question, with what is needed to answer it.' },
      options: { type: 'array', items: { type: 'string' }, description: 'Answers to choose from, if there are some.' },
    },
    required: ['question'],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
};

/** The server of one run. */
interface AskHuman {
  pending: PendingQuestions;
  /** the current one, because the runner learns secrets while it starts */
  sanitiser: () => Sanitiser;
  token: string;
}

/**
 * `ask_human` over streamable HTTP (MCP) on a free loopback port, without sessions; each request carries the token.
 * Written by hand: it is one tool, in the form that was measured with all five agents (event stream, progress every 5
 * s, GET 405).
 */
export async function serveAskHuman(
  pending: PendingQuestions,
  sanitiser: () => Sanitiser,
): Promise<{ url: string; token: string; close(): void }> {
  const token = randomBytes(32).toString('hex');
  const server = createServer((request, response) => {
    void handle({ pending, sanitiser, token }, request, response).catch(() => response.destroy());
  });
  // a question may be open for days, and the server must not take it for idle
  server.requestTimeout = 0;
  server.timeout = 0;
  server.maxConnections = 128;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`,
    token,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function handle(askHuman: AskHuman, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!isToken(request.headers.authorization, askHuman.token))
    return void refuse(response, 401, -32001, 'The token is missing or wrong.');
  if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST' }).end();
  const rpc = await receiveRequest(request, response);
  if (!rpc) return;
  const { id, method, params } = rpc;
  if (method === 'initialize') return sendResult(response, id, initialized(params.protocolVersion));
  if (method === 'ping') return sendResult(response, id, {});
  if (method === 'tools/list') return sendResult(response, id, { tools: [TOOL] });
  if (method === 'tools/call') return await call(askHuman, response, id, params);
  sendError(response, id, -32601, 'There is no such method here.');
}

const initialized = (wanted: unknown): object => ({
  protocolVersion: VERSIONS.find((version) => version === wanted) ?? VERSIONS[1],
  capabilities: { tools: {} },
  serverInfo: { name: MCP_SERVER, version: '1' },
});

async function call(
  { pending, sanitiser }: AskHuman,
  response: ServerResponse,
  id: RpcId,
  params: Record<string, unknown>,
): Promise<void> {
  const input = (params.arguments ?? {}) as { question?: unknown; options?: unknown };
  if (params.name !== ASK_TOOL) return sendError(response, id, -32602, `There is no tool but ${ASK_TOOL}.`);
  const question = typeof input.question === 'string' ? sanitiser().detail(input.question, 4000) : '';
  if (!question) return sendResult(response, id, result('The question is missing.', { isError: true }));
  const options = Array.isArray(input.options)
    ? input.options.filter((one) => typeof one === 'string').slice(0, 12)
    : [];
  const stream = new ResultStream(response);
  const timer = keepAlive(stream, (params._meta as { progressToken?: unknown } | undefined)?.progressToken);
  let gone = false;
  response.once('close', () => {
    gone = true;
    clearInterval(timer);
  });
  const reply = await pending.ask({
    question,
    options: options.map((one) => sanitiser().line(one, 200)).filter(Boolean),
  });
  clearInterval(timer);
  if (!gone) return stream.end(id, replyResult(reply));
  if (reply.what === 'answer') pending.unheard(question, reply);
}

/** Sends progress now and then, until the timer that it returns is cleared. */
function keepAlive(stream: ResultStream, progressToken: unknown): NodeJS.Timeout {
  let progress = 0;
  const beat = () => {
    progress += 1;
    if (progressToken === undefined) stream.comment('waiting');
    else stream.notify('notifications/progress', { progressToken, progress, message: 'Waiting for the person.' });
  };
  beat();
  return setInterval(beat, PROGRESS);
}

function replyResult(reply: Reply): object {
  if (reply.what === 'answer') return result(reply.text);
  if (reply.what === 'parked') return result(PARKED, { _meta: { 'fetch/parked': true } });
  if (reply.what === 'over') return result('The task ends now; stop.', { isError: true });
  return result('Too many questions are open.', { isError: true });
}

function result(text: string, more: object = {}): object {
  return { content: [{ type: 'text', text }], ...more };
}

function isToken(header: string | undefined, token: string): boolean {
  const given = Buffer.from(header ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
