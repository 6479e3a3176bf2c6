import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The exact bytes of one answer. */
export interface ScriptedAnswer {
  /** 200 when not given */
  status?: number;
  /** an event stream when not given */
  headers?: Record<string, string>;
  /** each part is written by itself */
  body: string | Uint8Array | ReadonlyArray<string | Uint8Array>;
  /** the connection is lost behind the body, in the middle of the response */
  lost?: boolean;
  /** nothing follows the body, and the connection stays */
  held?: boolean;
}

/** A request that the endpoint got. */
export interface AskedCompletion {
  method: string;
  /** with the query */
  path: string;
  headers: IncomingHttpHeaders;
  /** the parsed JSON body; an empty object when there is none */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any part of it
  body: any;
}

export interface ScriptedEndpoint {
  /** base URL of chat completions */
  baseUrl: string;
  /** every POST so far, refused ones included, in the order of arrival */
  requests(): AskedCompletion[];
  /** further answers, behind those that are left */
  say(...answers: ScriptedAnswer[]): void;
  close(): Promise<void>;
}

export interface EndpointOptions {
  /** one for each POST that is not refused, in this order; behind the last each POST gets 500 */
  answers?: readonly ScriptedAnswer[];
  /** the refusal of a request; it uses up no answer */
  check?: (asked: AskedCompletion) => ScriptedAnswer | null | undefined;
  /** the answers of GET, by path; other paths get 404 */
  pages?: Readonly<Record<string, object>>;
}

/** A server on loopback that speaks exactly the bytes of a script, and keeps what it was asked. */
export async function startEndpoint({ answers = [], check, pages = {} }: EndpointOptions): Promise<ScriptedEndpoint> {
  const left = [...answers];
  const requests: AskedCompletion[] = [];
  const server = createServer(async (request, response) => {
    const raw = await text(request);
    const { method = '', url: path = '' } = request;
    const page = pages[path];
    const say = (answer: ScriptedAnswer) => {
      response.writeHead(answer.status ?? 200, answer.headers ?? { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      for (const part of [answer.body].flat() as Array<string | Uint8Array>) response.write(part);
      if (answer.lost) response.socket?.end();
      else if (!answer.held) response.end();
    };
    if (method === 'GET') return say(page ? jsonAnswer(page) : refusal(404, { error: { message: `no page ${path}` } }));
    const asked: AskedCompletion = { method, path, headers: request.headers, body: raw === '' ? {} : JSON.parse(raw) };
    requests.push(asked);
    say(check?.(asked) ?? left.shift() ?? refusal(500, { error: { message: 'the script has no answer left' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: () => [...requests],
    say: (...more) => void left.push(...more),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };
export const jsonAnswer = (body: object, status = 200): ScriptedAnswer => ({
  status,
  headers: JSON_TYPE,
  body: JSON.stringify(body),
});
export const refusal = (status: number, body: object, headers: Record<string, string> = {}): ScriptedAnswer => ({
  ...jsonAnswer(body, status),
  headers: { ...JSON_TYPE, ...headers },
});

/** An event whose data is this object. */
export const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** One chunk of a chat completion. `more` goes beside `choices`. */
export const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  event({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });

/** A chunk with these parts of calls. */
export const callChunk = (...parts: object[]): string => chunk({ tool_calls: parts });

export const DONE = 'data: [DONE]\n\n';

/** An event stream of these parts, each written by itself. */
export const streamed = (...parts: string[]): ScriptedAnswer => ({ body: parts });

/** A whole streamed answer of text. */
export const says = (text: string): ScriptedAnswer =>
  streamed(chunk({ role: 'assistant', content: text }), chunk({}, 'stop'), DONE);

/** A whole streamed answer of calls, given as name and arguments. */
export const calls = (...wanted: Array<[name: string, args: object, id?: string]>): ScriptedAnswer =>
  streamed(
    ...wanted.map(([name, args, id], index) =>
      callChunk({
        index,
        id: id ?? `x${index + 1}`,
        type: 'function',
        function: { name, arguments: JSON.stringify(args) },
      }),
    ),
    chunk({}, 'tool_calls'),
    DONE,
  );
