import { randomUUID } from 'node:crypto';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError as ProtocolError,
} from '@modelcontextprotocol/sdk/types.js';
import type { Logger } from 'pino';
import { offeredToAgents } from '../../domain/extensions/mcp-declaration.ts';
import { askedTool, egressWords } from '../../domain/tasks/egress.ts';
import { VERSION } from '../../installation.ts';
import { addTraffic } from '../../store/kennel/egress.ts';
import { agreedInThread } from '../../store/turns/turn-extensions.ts';
import type { Admission } from '../kennel/gate/egress/admission.ts';
import type { TaskMcp } from '../kennel/gate/gate.ts';
import { createSlots, type Slots } from '../kennel/gate/slots.ts';
import { type AgreedTool, type CallAccess, callAgreed } from './agreed-call.ts';
import { readMcpConfig } from './configured.ts';

/**
 * The MCP servers of the owner as a coding agent in a container sees them: one path for each, over a socket of the
 * gate. Tokens, headers and containers of servers stay on the host. What the owner calls SAFE is called without a
 * question, and MODERATE after one; nothing else is offered.
 */
interface AgentServersDeps extends CallAccess {
  /** the task's own chat; without it agents cannot speak there */
  chat?: ChatTools;
  /** of the task: its chat says whether the owner is alone there */
  threadId: string;
  /** told of each call: from then on the task has read text of others */
  read: (server: string, bytes: { sent: number; received: number }) => Promise<void>;
  /**
   * null when the tool may be called, else what the agent is told; waits while the person is asked. `left`: aborted
   * when the agent gives the call up
   */
  admit: (tool: AgreedTool, left: AbortSignal) => Promise<string | null>;
  log: Logger;
}

/**
 * What an agent may do in the chat of its task. Who it is follows from the socket that it speaks through, and never
 * from what it says.
 */
export interface ChatTools {
  tools: ReadonlyArray<{ name: string; description?: string; inputSchema: { type: 'object' } }>;
  /** `key`: a call with the key of an earlier one has no second effect */
  call(name: string, args: Record<string, unknown>, key: string, signal: AbortSignal): Promise<ChatAnswer>;
  /** A command line of `agent-browser`, with a file that it uploads. A picture is a file. */
  browse(argv: readonly string[], data: Buffer, signal: AbortSignal): Promise<ChatAnswer & { file?: Buffer }>;
  /** What is in this file of NanoClaw's protocol now; undefined when it has no such file. */
  snapshot(file: string): Promise<object | undefined>;
}
export interface ChatAnswer {
  text: string;
  ok: boolean;
}

/** Agents call the tools of their chat `mcp__nanoclaw__send_message` and so on, as those of NanoClaw do. */
export const CHAT_SERVER = 'nanoclaw';
/** Of a call that is no MCP: a file of NanoClaw's protocol. */
const CALL_BYTES = 4 * 1024 * 1024;
/** A command line with a file as base64. */
const BROWSE_BYTES = 12 * 1024 * 1024;

/** At a time, for one task: each may start a container. */
const CALLS = 4;
/** Some agents give up a call after a minute without a sign. */
const PROGRESS_MS = 5_000;
const START_MS = 60_000;

/** Tools by server, as agents of this thread get them now. */
export async function toolsForAgents({
  db,
  config,
  threadId,
}: Pick<AgentServersDeps, 'db' | 'config' | 'threadId'>): Promise<Map<string, AgreedTool[]>> {
  const { servers } = await readMcpConfig(config);
  const offered = new Map<string, AgreedTool[]>();
  // the file is empty in most homes
  if (!servers.some(({ server }) => server.agents)) return offered;
  for (const { hash, declaration } of await agreedInThread(db, threadId)) {
    if (
      declaration.kind !== 'mcp' ||
      !servers.some(({ server }) => server.agents && server.name === declaration.server.name)
    )
      continue;
    const tools = offeredToAgents(declaration).map((declared) => ({ hash, server: declaration.server, declared }));
    if (tools.length > 0) offered.set(declaration.server.name, tools);
  }
  return offered;
}

interface Serving extends AgentServersDeps {
  over: AbortSignal;
  slots: Slots;
}

/** Serves `/NAME` for each server. `over`: cuts running calls. */
export function serveAgents(deps: AgentServersDeps, over: AbortSignal): HttpServer {
  const serving: Serving = { ...deps, over, slots: createSlots(CALLS) };
  const http = createServer((request, response) => {
    handle(serving, request, response).catch((error: Error) => {
      deps.log.warn({ error: error.message }, 'a call of an MCP server by an agent failed');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  http.maxConnections = 64;
  return http;
}

async function handle(deps: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name, file] = /^\/([A-Za-z0-9-]+)(?:\/([a-z_]+(?:\.json)?))?$/.exec(request.url ?? '') ?? [];
  const tools = name === undefined ? undefined : (await toolsForAgents(deps)).get(name);
  // a server of the owner may have its name
  if (deps.chat && name === CHAT_SERVER && !tools)
    return await handleChat(deps, deps.chat, { request, response, file });
  if (!name || !tools || file !== undefined) return void response.writeHead(404).end();
  // no server speaks unasked, and there are no sessions
  if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST' }).end();
  await serve(serverOf(deps, name, tools), request, response);
}

async function serve(server: Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport({});
  response.on('close', () => void transport.close().then(() => server.close()));
  await server.connect(transport as never);
  await transport.handleRequest(request, response);
}

/** The tools of the chat, for agents that speak MCP; and for files of NanoClaw's protocol, one after the other. */
async function handleChat(
  { over }: Serving,
  chat: ChatTools,
  { request, response, file }: { request: IncomingMessage; response: ServerResponse; file: string | undefined },
): Promise<void> {
  if (file === undefined && request.method === 'POST')
    return await serve(
      serverWith(CHAT_SERVER, chat.tools, async ({ name, args, signal }) => {
        const { text, ok } = await chat.call(name, args, randomUUID(), AbortSignal.any([signal, over]));
        return { content: [{ type: 'text' as const, text }], isError: !ok };
      }),
      request,
      response,
    );
  if ((file === 'calls' || file === 'browser') && request.method === 'POST') {
    const body = await bodyOf(request, file === 'browser' ? BROWSE_BYTES : CALL_BYTES);
    const left = new AbortController();
    response.on('close', () => left.abort());
    const signal = AbortSignal.any([left.signal, over]);
    if (file === 'browser') {
      if (body === null) return sendBrowsed(response, { text: 'The file is too large.', ok: false });
      const parts = body.split('\0');
      const data = Buffer.from(parts.pop()!, 'base64');
      return sendBrowsed(response, await chat.browse(parts, data, signal));
    }
    const given = callIn(body);
    if (!given) return void response.writeHead(400).end();
    return sendJson(response, await chat.call(given.name, given.args, given.key, signal));
  }
  const snapshot = request.method === 'GET' && file ? await chat.snapshot(file) : undefined;
  return snapshot ? sendJson(response, snapshot) : void response.writeHead(404).end();
}

const sendJson = (response: ServerResponse, body: object): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** The program `agent-browser` of a container tells by the status and the type what it got. */
const sendBrowsed = (response: ServerResponse, { ok, text, file }: Awaited<ReturnType<ChatTools['browse']>>): void =>
  void response
    .writeHead(ok ? 200 : 422, { 'content-type': file ? 'application/octet-stream' : 'text/plain; charset=utf-8' })
    .end(file ?? `${text}\n`);

/** Null when it is too long. */
async function bodyOf(request: IncomingMessage, most: number): Promise<string | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > most) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function callIn(body: string | null): { name: string; args: Record<string, unknown>; key: string } | null {
  try {
    const { name, args, key } = JSON.parse(body ?? '') as Record<string, unknown>;
    if (typeof name !== 'string' || typeof key !== 'string' || key === '' || key.length > 200) return null;
    return { name, key, args: args && typeof args === 'object' ? (args as Record<string, unknown>) : {} };
  } catch {
    return null;
  }
}

function serverOf(deps: Serving, name: string, tools: readonly AgreedTool[]): Server {
  const offered = tools.map(({ declared: { of, description, parameters } }) => ({
    name: of,
    description,
    inputSchema: parameters as { type: 'object' },
  }));
  return serverWith(name, offered, async ({ name: wanted, args, signal }) => {
    const tool = tools.find(({ declared }) => declared.of === wanted)!;
    const left = AbortSignal.any([signal, deps.over]);
    const refused = await deps.admit(tool, left);
    if (refused !== null) return { content: [{ type: 'text' as const, text: refused }], isError: true };
    const until = AbortSignal.any([left, AbortSignal.timeout(tool.server.timeoutMs + START_MS)]);
    return await call(deps, tool, args, until);
  });
}

/** A server of these tools, which gives a sign of life while a call of one of them runs. */
function serverWith(
  name: string,
  tools: ChatTools['tools'],
  run: (call: { name: string; args: Record<string, unknown>; signal: AbortSignal }) => Promise<CallToolResult>,
): Server {
  const server = new Server({ name, version: VERSION }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification, _meta }) => {
    if (!tools.some((each) => each.name === params.name))
      throw new ProtocolError(ErrorCode.InvalidParams, 'There is no such tool.');
    let progress = 0;
    const beat = setInterval(() => {
      if (_meta?.progressToken === undefined) return;
      progress += 1;
      sendNotification({
        method: 'notifications/progress',
        params: { progressToken: _meta.progressToken, progress },
      }).catch(() => {});
    }, PROGRESS_MS);
    try {
      return await run({ name: params.name, args: params.arguments ?? {}, signal });
    } finally {
      clearInterval(beat);
    }
  });
  return server;
}

async function call(deps: Serving, tool: AgreedTool, args: Record<string, unknown>, signal: AbortSignal) {
  const release = await deps.slots.take(signal);
  const { ok, text } = await callAgreed(deps, tool, args, signal).finally(release);
  // before the agent reads it, also of a failure, which may have words of the server
  await deps.read(tool.server.name, {
    sent: Buffer.byteLength(JSON.stringify(args)),
    received: Buffer.byteLength(text),
  });
  return { content: [{ type: 'text' as const, text }], isError: !ok };
}

/**
 * What a task has read there counts like what it has read from a host: its report names it, and later questions say so.
 */
export function taskMcp({
  taskId,
  admission,
  ...deps
}: Omit<AgentServersDeps, 'read' | 'admit'> & { taskId: string; admission: Admission }): TaskMcp {
  const over = new AbortController();
  const read: AgentServersDeps['read'] = (name, bytes) =>
    addTraffic(deps.db, taskId, [{ host: mcpHost(name), port: MCP_PORT, connections: 1, ...bytes }]);
  const admit: AgentServersDeps['admit'] = async ({ server, declared }, left) => {
    if (declared.danger === 'SAFE') return null;
    const tool = askedTool(server.name, declared.of);
    const admitted = await admission.admit(tool, 'The agent', left);
    if (!admitted.open) return admitted.words;
    return admitted.waited ? egressWords.callAgain(tool) : null;
  };
  return { server: serveAgents({ ...deps, read, admit }, over.signal), cut: () => over.abort() };
}

/** Stands among the hosts of a task. No host can have this name. */
const mcpHost = (name: string): string => `mcp server ${name}`;
const MCP_PORT = 443;
