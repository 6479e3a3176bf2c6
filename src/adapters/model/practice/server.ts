import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type OfferedTool, practiceStep } from './practice.ts';
import { type ScriptStep, scriptedStep, situationOf, textOf, type WireMessage } from './script.ts';

/** What became of one request for a completion. */
export interface LedgerEntry {
  /** order of arrival, from 1 */
  n: number;
  /** epoch milliseconds of arrival */
  at: number;
  /** the `x-fetch-request-id` header; empty without one */
  requestId: string;
  model: string;
  /** the last user message */
  user: string;
  step: number;
  /** roles of the messages, tool names offered, size of the body in bytes */
  roles: string[];
  tools: string[];
  bytes: number;
  /** `answered`: the last byte was handed to the socket; `aborted`: the caller went away first */
  state: 'open' | 'answered' | 'aborted' | 'failed';
}

export interface PracticeOptions {
  /** 0: any free port */
  port?: number;
  /** understand SCRIPT:[...] messages */
  scripts?: boolean;
  /** milliseconds before each word of an answer that sets no pace of its own */
  pace?: number;
  /** parse only the latest message and what follows of a long request, so that a measurement is not one of this server; `roles` then lacks the rest */
  skim?: boolean;
  /** called at arrival and again when the state changes */
  ledger?: (entry: LedgerEntry) => void;
  /** called with the whole body of each request */
  heard?: (body: string) => void;
}

export interface PracticeServer {
  baseUrl: string;
  port: number;
  close(): Promise<void>;
}

const MAX_BODY = 32 * 1024 * 1024;

/** A deterministic model behind the OpenAI wire protocol, on loopback only and without a key. */
export async function startPracticeServer(options: PracticeOptions = {}): Promise<PracticeServer> {
  /** how often a step failed on purpose, for `times` */
  const failures = new Map<string, number>();
  let count = 0;

  const complete = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await readBody(request);
    options.heard?.(raw);
    let body: { model?: string; messages?: WireMessage[]; tools?: unknown[]; stream?: boolean; stream_options?: { include_usage?: boolean } };
    try {
      body = JSON.parse(options.skim ? skimmed(raw) : raw);
    } catch {
      return sendError(response, 400, 'the body is not JSON');
    }
    if (!Array.isArray(body?.messages)) return sendError(response, 400, 'messages is required');
    const situation = situationOf(body.messages);
    const tools = offeredTools(body.tools);
    const requestId = String(request.headers['x-fetch-request-id'] ?? '');
    count += 1;
    const entry: LedgerEntry = {
      n: count,
      at: Date.now(),
      requestId,
      model: body.model ?? 'practice',
      user: situation.user.slice(0, 2_000),
      step: situation.step,
      roles: body.messages.map((message) => message.role),
      tools: tools.map((tool) => tool.name),
      bytes: raw.length,
      state: 'open',
    };
    const become = (state: LedgerEntry['state']) => {
      if (entry.state !== 'open') return;
      entry.state = state;
      options.ledger?.(entry);
    };
    options.ledger?.(entry);
    const gone = new AbortController();
    response.on('finish', () => become(response.statusCode < 400 ? 'answered' : 'failed'));
    response.on('close', () => {
      become('aborted');
      gone.abort();
    });

    let step = (options.scripts ? scriptedStep(situation) : null) ?? practiceStep(situation, tools);
    if (step.times !== undefined && (step.fail || step.hang || step.cut)) {
      const key = `${requestId.split('#')[0]}\n${situation.user}\n${situation.step}`;
      const failed = failures.get(key) ?? 0;
      if (failed >= step.times) step = { ...step, fail: undefined, hang: undefined, cut: undefined };
      else failures.set(key, failed + 1);
    }
    if (step.hang) return;
    if (step.fail) return sendError(response, step.fail, `scripted ${step.fail}`, step.retryAfter);
    const usage = usageOf(options.skim ? raw.length : charsOf(body.messages, body.tools), step);
    const envelope = { id: `practice-${count}`, created: Math.floor(entry.at / 1000), model: entry.model };
    const calls = (step.call ?? []).map(([name, args], at) => ({
      id: `call_${situation.step}_${at}`,
      type: 'function',
      function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
    }));
    const finish = calls.length > 0 ? 'tool_calls' : 'stop';
    if (!body.stream) {
      const message = {
        role: 'assistant',
        content: step.say ?? null,
        ...(step.think ? { reasoning_content: step.think } : {}),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      };
      return sendJson(response, 200, { ...envelope, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const send = (choices: unknown[], more: object = {}) =>
      response.write(`data: ${JSON.stringify({ ...envelope, object: 'chat.completion.chunk', choices, ...more })}\n\n`);
    const delta = (part: object) => send([{ index: 0, delta: part, finish_reason: null }]);
    const pace = step.pace ?? options.pace ?? 10;
    const think = words(step.think ?? '', pace).map((part) => ({ reasoning_content: part }));
    const say = words(step.say ?? '', pace).map((part) => ({ content: part }));
    const parts: object[] = [...think, ...say, ...calls.flatMap(callDeltas)];
    delta({ role: 'assistant', content: '' });
    const end = step.cut ? Math.ceil(parts.length / 2) : parts.length;
    for (const part of parts.slice(0, end)) {
      if (pace > 0 && !(await pause(pace, gone.signal))) return;
      delta(part);
    }
    if (step.cut) {
      // after what was written has left, or the caller would see a connection that never answered
      response.write(': cut\n\n', () => response.destroy());
      return;
    }
    send([{ index: 0, delta: {}, finish_reason: finish }]);
    if (body.stream_options?.include_usage) send([], { usage });
    response.end('data: [DONE]\n\n');
  };

  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]?.replace(/^\/v1/, '');
    if (request.method === 'GET' && path === '/models')
      return sendJson(response, 200, { object: 'list', data: [{ id: 'practice', object: 'model', created: 0, owned_by: 'fetch' }] });
    if (request.method === 'POST' && path === '/chat/completions') {
      complete(request, response).catch((error: Error) => {
        if (!response.headersSent) sendError(response, 400, error.message);
        else response.destroy();
      });
      return;
    }
    sendError(response, 404, `no such endpoint: ${request.method} ${path}`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A request without its messages before the latest of the person; a quote inside a text is escaped, so the mark stands only where a message begins. */
function skimmed(raw: string): string {
  const first = raw.indexOf('"messages":[');
  const latest = raw.lastIndexOf('{"role":"user"');
  return first < 0 || latest < first ? raw : raw.slice(0, first) + '"messages":[' + raw.slice(latest);
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string, retryAfter?: number): void {
  sendJson(response, status, { error: { message, type: 'practice', code: null } }, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) });
}

function offeredTools(tools: unknown): OfferedTool[] {
  if (!Array.isArray(tools)) return [];
  return (tools as Array<{ function?: { name?: string; parameters?: { properties?: object } } }>).flatMap((tool) =>
    tool?.function?.name ? [{ name: tool.function.name, properties: Object.keys(tool.function.parameters?.properties ?? {}) }] : [],
  );
}

/** Words with the space that follows; some at a time where nothing is paced, for a chunk costs more than a word. */
function words(text: string, pace: number): string[] {
  const single = text.match(/\S{1,40}\s*|\s+/g) ?? [];
  if (pace > 0) return single;
  return Array.from({ length: Math.ceil(single.length / 16) }, (_, at) => single.slice(at * 16, at * 16 + 16).join(''));
}

/** A call comes in two pieces, as real endpoints send it: the head, then the arguments. */
function callDeltas(call: { id: string; type: string; function: { name: string; arguments: string } }, index: number): object[] {
  return [
    { tool_calls: [{ index, id: call.id, type: call.type, function: { name: call.function.name, arguments: '' } }] },
    { tool_calls: [{ index, function: { arguments: call.function.arguments } }] },
  ];
}

const charsOf = (messages: readonly WireMessage[], tools: unknown): number =>
  messages.reduce((sum, message) => sum + textOf(message.content).length + JSON.stringify(message.tool_calls ?? '').length, JSON.stringify(tools ?? '').length);

/** Four characters a token: exact enough to practise with, and the same every time. */
function usageOf(input: number, step: ScriptStep): object {
  const reasoning = Math.ceil((step.think ?? '').length / 4);
  const prompt = Math.ceil(input / 4);
  const completion = Math.ceil(((step.say ?? '').length + JSON.stringify(step.call ?? '').length) / 4) + reasoning;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/** False when the caller went away meanwhile. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const done = (value: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(value);
    };
    const onAbort = () => done(false);
    const timer = setTimeout(() => done(true), ms);
    signal.addEventListener('abort', onAbort);
  });
}
