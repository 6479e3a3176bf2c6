import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Sanitiser } from '../log/sanitiser.ts';
import type { PendingQuestions, Reply } from './pending-questions.ts';

/** Name of the MCP server in a session: agents show the tool as `mcp__fetch__ask_human` or the like. */
export const MCP_SERVER = 'fetch';
export const ASK_TOOL = 'ask_human';
/** ms between progress notifications: some clients give up a call after 60 s without one */
const PROGRESS = 5000;
const MAX_BODY = 256 * 1024;
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

interface Rpc {
  id?: string | number | null;
  method?: unknown;
  params?: Record<string, unknown>;
}

/**
 * `ask_human` over streamable HTTP (MCP) on a free loopback port, without sessions; each request carries the token. Written by hand: it is one tool, in the
 * form that was measured with all five agents (event stream, progress every 5 s, GET 405).
 */
export async function serveAskHuman(pending: PendingQuestions, sanitiser: () => Sanitiser): Promise<{ url: string; token: string; close(): void }> {
  const token = randomBytes(32).toString('hex');
  const server = createServer((request, response) => {
    void handle(request, response).catch(() => response.destroy());
  });
  // a question may be open for days, and the server must not take it for idle
  server.requestTimeout = 0;
  server.timeout = 0;
  server.maxConnections = 128;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isToken(request.headers.authorization, token)) return send(response, 401, failure(null, -32001, 'The token is missing or wrong.'));
    if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST' }).end();
    const body = await read(request);
    if (body === null) return send(response, 413, failure(null, -32600, 'The request is too long.'));
    let rpc: Rpc;
    try {
      rpc = JSON.parse(body) as Rpc;
    } catch {
      return send(response, 400, failure(null, -32700, 'The request is no JSON.'));
    }
    if (rpc === null || typeof rpc !== 'object' || Array.isArray(rpc)) return send(response, 400, failure(null, -32600, 'One request at a time.'));
    // notifications, and answers to nothing
    if (rpc.id === undefined || rpc.id === null || typeof rpc.method !== 'string') return void response.writeHead(202).end();
    const id = rpc.id;
    if (rpc.method === 'initialize') {
      const wanted = rpc.params?.protocolVersion;
      return send(response, 200, {
        jsonrpc: '2.0',
        id,
        result: {
          protocolVersion: VERSIONS.find((version) => version === wanted) ?? VERSIONS[1],
          capabilities: { tools: {} },
          serverInfo: { name: MCP_SERVER, version: '1' },
        },
      });
    }
    if (rpc.method === 'ping') return send(response, 200, { jsonrpc: '2.0', id, result: {} });
    if (rpc.method === 'tools/list') return send(response, 200, { jsonrpc: '2.0', id, result: { tools: [TOOL] } });
    if (rpc.method === 'tools/call') return await call(response, id, rpc.params ?? {});
    send(response, 200, failure(id, -32601, 'There is no such method here.'));
  }

  async function call(response: ServerResponse, id: string | number, params: Record<string, unknown>): Promise<void> {
    const input = (params.arguments ?? {}) as { question?: unknown; options?: unknown };
    if (params.name !== ASK_TOOL) return send(response, 200, failure(id, -32602, `There is no tool but ${ASK_TOOL}.`));
    const question = typeof input.question === 'string' ? sanitiser().detail(input.question, 4000) : '';
    if (!question) return send(response, 200, { jsonrpc: '2.0', id, result: result('The question is missing.', { isError: true }) });
    const options = Array.isArray(input.options) ? input.options.filter((one) => typeof one === 'string').slice(0, 12) : [];
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', connection: 'keep-alive' });
    const progressToken = (params._meta as { progressToken?: unknown } | undefined)?.progressToken;
    let count = 0;
    const beat = () => {
      count += 1;
      if (progressToken === undefined) response.write(': waiting\n\n');
      else
        event(response, { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: count, message: 'Waiting for the person.' } });
    };
    beat();
    const timer = setInterval(beat, PROGRESS);
    let gone = false;
    response.once('close', () => {
      gone = true;
      clearInterval(timer);
    });
    const reply = await pending.ask({ question, options: options.map((one) => sanitiser().line(one, 200)).filter(Boolean) });
    clearInterval(timer);
    if (gone) {
      if (reply.what === 'answer') pending.unheard(question, reply);
      return;
    }
    event(response, { jsonrpc: '2.0', id, result: replyResult(reply) });
    response.end();
  }

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

function replyResult(reply: Reply): object {
  if (reply.what === 'answer') return result(reply.text);
  if (reply.what === 'parked') return result(PARKED, { _meta: { 'fetch/parked': true } });
  if (reply.what === 'over') return result('The task ends now; stop.', { isError: true });
  return result('Too many questions are open.', { isError: true });
}

function result(text: string, more: object = {}): object {
  return { content: [{ type: 'text', text }], ...more };
}

function failure(id: string | number | null, code: number, message: string): object {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function event(response: ServerResponse, message: object): void {
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

function isToken(header: string | undefined, token: string): boolean {
  const given = Buffer.from(header ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function read(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
