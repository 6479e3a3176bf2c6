import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const ANY = '*';

/** How the endpoint refuses: status, headers, body. */
export interface Refusing {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** ms since the epoch */
  until?: number;
  /** ms from the first request that it meets; for ever when neither is given */
  forMs?: number;
}

export interface AskedEndpoint {
  /** ms since the epoch */
  at: number;
  model: string;
  answered: boolean;
}

/**
 * A model endpoint (Anthropic Messages, and chat completions where a model stands behind it) with a limit that a test
 * sets. It keeps what was asked of it.
 */
export interface LimitedEndpoint {
  url: string;
  /** `model`: one alone; otherwise each that has no limit of its own */
  refuse(how: Refusing | null, model?: string): void;
  /** when what was set last ends: Infinity before its first request */
  endsAt(model?: string): number;
  requests(): AskedEndpoint[];
  close(): Promise<void>;
}

/** @param behind base URL of the model that answers chat completions */
export async function startLimitedEndpoint({ behind }: { behind?: string } = {}): Promise<LimitedEndpoint> {
  const refusing = new Map<string, Refusing | null>();
  const asked: AskedEndpoint[] = [];
  const server = createServer(async (request, response) => {
    const at = Date.now();
    const body = await json(request).catch(() => ({}));
    const { model = '' } = body as { model?: string };
    const limit = refusing.get(refusing.has(model) ? model : ANY);
    if (limit?.forMs !== undefined) limit.until ??= at + limit.forMs;
    const refuses = limit && at < (limit.until ?? Number.POSITIVE_INFINITY) ? limit : null;
    asked.push({ at, model, answered: !refuses });
    if (!refuses && behind && request.url?.endsWith('/chat/completions'))
      return await passOn(`${behind}/chat/completions`, request, body, response);
    response.writeHead(refuses?.status ?? 200, { 'content-type': 'application/json', ...refuses?.headers });
    const usage = { input_tokens: 1, output_tokens: 1 };
    response.end(
      JSON.stringify(
        refuses
          ? (refuses.body ?? {
              type: 'error',
              error: { type: 'rate_limit_error', message: 'This request would exceed your account’s rate limit.' },
            })
          : {
              id: 'msg_1',
              type: 'message',
              role: 'assistant',
              model,
              content: [{ type: 'text', text: 'done' }],
              usage,
            },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refuse: (how, model = ANY) => void refusing.set(model, how && { ...how }),
    endsAt: (model = ANY) => refusing.get(model)?.until ?? Number.POSITIVE_INFINITY,
    requests: () => [...asked],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function passOn(
  url: string,
  { headers }: IncomingMessage,
  body: unknown,
  response: ServerResponse,
): Promise<void> {
  const id = headers['x-fetch-request-id'];
  const sent = { 'content-type': 'application/json', ...(typeof id === 'string' && { 'x-fetch-request-id': id }) };
  const answer = await fetch(url, { method: 'POST', headers: sent, body: JSON.stringify(body) });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
  for await (const part of answer.body!) response.write(part);
  response.end();
}

/**
 * A program that calls a model from inside of a container: `ask.mjs MODEL`, or with `again` until it gets an answer.
 * `chat`: as chats call it, and not before there is a file `go`. It notes the answer in a file.
 */
export const MODEL_CALLER = `
import { appendFileSync, existsSync } from 'node:fs';
const [model = 'm', again] = process.argv.slice(2);
const call = () => fetch(process.env.PRACTICE_MODEL_URL + (again === 'chat' ? '/openai/v1/chat/completions' : '/anthropic/v1/messages'), {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Go on.' }] }),
});
while (again === 'chat' && !existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 100));
for (;;) {
  const answer = await call().catch(() => null);
  await answer?.text().catch(() => {});
  if (answer?.ok) break;
  // a host that is restarted is there again soon
  const away = answer === null || [502, 503, 504].includes(answer.status);
  if (!away && again !== 'again') throw new Error('the model answered ' + answer.status + ', retry-after ' + answer.headers.get('retry-after'));
  await new Promise((resolve) => setTimeout(resolve, 200));
}
appendFileSync('answers.txt', 'answered\\n');
`;
