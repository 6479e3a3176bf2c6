import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { anthropic } from './anthropic.ts';
import type { Asked, Body, Protocol, Reply, Usage, Wire } from './asked.ts';
import { chat } from './chat.ts';
import { gemini } from './gemini.ts';
import { responses } from './responses.ts';
import { due, replyTo } from './script.ts';
import { refusedAnswer } from './usage-limits.ts';

/** What became of one request for a completion. */
export interface ProviderEntry {
  /** order of arrival, from 1 */
  n: number;
  at: number;
  protocol: Protocol;
  path: string;
  /** the key as it came: `x-api-key`, `authorization` without `Bearer`, `x-goog-api-key` or `?key=` */
  key: string;
  model: string;
  stream: boolean;
  /** the user turn with the script; the last one without a script */
  user: string;
  /** the latest tool result */
  last: string;
  /** names of the tools on offer */
  tools: string[];
  /** the step of the script that this request was for; null for side questions and where there is no script */
  step: number | null;
  status: number;
  /** null when nothing was counted: faults, and answers that were cut */
  usage: Usage | null;
  /** `answered`: the last byte was handed to the socket; `aborted`: the caller went away first */
  state: 'open' | 'answered' | 'aborted' | 'failed';
}

export interface Providers {
  /** without a path; protocols are told apart by the end of the path, so any prefix may stand before it */
  origin: string;
  port: number;
  requests(): ProviderEntry[];
  /** bodies as they came, by `n` */
  body(n: number): Body;
  close(): Promise<void>;
}

const wires: Array<[RegExp, Protocol, Wire]> = [
  [/\/v1\/messages$/, 'anthropic', anthropic],
  [/\/chat\/completions$/, 'openai-chat', chat],
  [/\/responses$/, 'openai-responses', responses],
  [/:(streamG|g)enerateContent$/, 'gemini', gemini],
];

/**
 * Model providers that answer `SCRIPT:[...]` prompts (`script.ts`) over real HTTP in four protocols, and keep a ledger.
 * Requests that belong to no script (titles, summaries, guardians) get a harmless answer.
 */
export async function startProviders(
  options: { port?: number; ledger?: (entry: ProviderEntry) => void } = {},
): Promise<Providers> {
  const entries: ProviderEntry[] = [];
  const bodies = new Map<number, unknown>();
  const failures = new Map<string, number>();
  /** when the limit of a step ends */
  const limits = new Map<string, number>();

  const complete = async (
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    protocol: Protocol,
    wire: Wire,
  ): Promise<void> => {
    const raw = await readBody(request);
    const body = JSON.parse(raw);
    const asked: Asked = { ...wire.read(body, url), protocol, bytes: raw.length };
    const n = entries.length + 1;
    bodies.set(n, body);
    const scripted = isSideQuestion(asked) ? null : due(asked);
    const entry: ProviderEntry = {
      n,
      at: Date.now(),
      protocol,
      path: url.pathname,
      key: keyOf(request, url),
      model: asked.model,
      stream: asked.stream,
      user:
        (
          asked.turns.findLast((turn) => turn.role === 'user' && turn.text.includes('SCRIPT:')) ??
          asked.turns.findLast((turn) => turn.role === 'user')
        )?.text ?? '',
      last: asked.turns.findLast((turn) => turn.role === 'tool')?.text ?? '',
      tools: asked.tools.map((tool) => tool.name),
      step: scripted?.at ?? null,
      status: 200,
      usage: null,
      state: 'open',
    };
    entries.push(entry);
    const become = (state: ProviderEntry['state']) => {
      if (entry.state !== 'open') return;
      entry.state = state;
      options.ledger?.(entry);
    };
    options.ledger?.(entry);
    response.on('finish', () => become(entry.status < 400 ? 'answered' : 'failed'));
    response.on('close', () => become('aborted'));

    let step = scripted?.step ?? { say: asked.structured ? '{}' : 'Practice.' };
    if (scripted && step.times !== undefined && (step.fail || step.hang || step.cut)) {
      const key = `${scripted.text}\n${scripted.at}`;
      const failed = failures.get(key) ?? 0;
      if (failed >= step.times) step = { ...step, fail: undefined, hang: undefined, cut: undefined };
      else failures.set(key, failed + 1);
    }
    if (scripted && step.limit) {
      const key = `${scripted.text}\n${scripted.at}`;
      const opensAt = limits.get(key) ?? entry.at + step.limit.forMs;
      limits.set(key, opensAt);
      if (entry.at < opensAt) {
        const { status, headers, body: refusal } = refusedAnswer(step.limit, { now: entry.at, opensAt });
        entry.status = status;
        return sendJson(response, status, refusal, headers);
      }
    }
    if (step.hang) return;
    if (step.fail) {
      entry.status = step.fail;
      return sendJson(
        response,
        step.fail,
        wire.error(step.fail, `scripted ${step.fail}`),
        step.retryAfter === undefined ? {} : { 'retry-after': String(step.retryAfter) },
      );
    }
    const reply = replyTo(asked, step, scripted?.at ?? 0, n);
    const usage = usageOf(asked, reply);
    if (!reply.cut) entry.usage = usage;
    if (!asked.stream && !reply.cut) return sendJson(response, 200, wire.document(asked, reply, usage, n));
    await stream(response, wire.events(asked, reply, usage, n), reply);
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (request.method === 'HEAD') return void response.end();
    if (request.method === 'GET' && url.pathname.endsWith('/models'))
      return sendJson(response, 200, {
        object: 'list',
        data: [{ id: 'scripted', object: 'model', created: 0, owned_by: 'test' }],
      });
    const wire = request.method === 'POST' ? wires.find(([pattern]) => pattern.test(url.pathname)) : undefined;
    if (request.method === 'POST' && /(\/count_tokens|:countTokens)$/.test(url.pathname))
      return sendJson(response, 200, { input_tokens: 100, totalTokens: 100 });
    if (!wire)
      return sendJson(response, 404, { error: { message: `no such endpoint: ${request.method} ${url.pathname}` } });
    complete(request, response, url, wire[1], wire[2]).catch((error: Error) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 400, { error: { message: error.message } });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests: () => entries,
    body: (n) => bodies.get(n),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Titles and summaries are asked for without tools; classifiers and guardians want JSON of some shape. */
const isSideQuestion = (asked: Asked): boolean => asked.tools.length === 0 || asked.structured;

async function stream(
  response: ServerResponse,
  events: Array<{ name?: string; data: unknown }>,
  reply: Reply,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const end = reply.cut ? Math.ceil(events.length / 2) : events.length;
  for (const { name, data } of events.slice(0, end)) {
    if (reply.pace > 0) await pause(reply.pace);
    if (response.destroyed) return;
    response.write(
      `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
    );
  }
  // after what was written has left, or the caller would see a connection that never answered
  if (reply.cut) response.write(': cut\n\n', () => response.destroy());
  else response.end();
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function keyOf(request: IncomingMessage, url: URL): string {
  const headers = request.headers;
  const key =
    headers['x-api-key'] ??
    headers['x-goog-api-key'] ??
    headers.authorization?.replace(/^Bearer /, '') ??
    url.searchParams.get('key') ??
    '';
  return String(key);
}

/**
 * Four characters a token, a tenth of the input from a cache: the same every time, and no figure equals another by
 * accident.
 */
function usageOf(asked: Asked, reply: Reply): Usage {
  const inputTokens = Math.ceil(asked.bytes / 4);
  const said = reply.text.length + reply.calls.reduce((sum, call) => sum + JSON.stringify(call.args).length, 0);
  return { inputTokens, cachedTokens: Math.floor(inputTokens / 10), outputTokens: Math.ceil(said / 4) + 1 };
}
