import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How the endpoint refuses: status, headers, body. */
export interface Refusing {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** ms since the epoch */
  until: number;
}

/** A model endpoint (Anthropic Messages) with a limit that a test sets. It keeps what was asked of it. */
export interface LimitedEndpoint {
  url: string;
  refuse(how: Refusing | null): void;
  /** when each request came, and whether it was answered */
  requests(): Array<{ at: number; answered: boolean }>;
  close(): Promise<void>;
}

export async function startLimitedEndpoint(): Promise<LimitedEndpoint> {
  let refusing: Refusing | null = null;
  const asked: Array<{ at: number; answered: boolean }> = [];
  const server = createServer((request, response) => {
    request.resume();
    const at = Date.now();
    const refuses = refusing !== null && at < refusing.until ? refusing : null;
    asked.push({ at, answered: !refuses });
    response.writeHead(refuses?.status ?? 200, { 'content-type': 'application/json', ...refuses?.headers });
    const usage = { input_tokens: 1, output_tokens: 1 };
    response.end(
      JSON.stringify(
        refuses
          ? (refuses.body ?? { type: 'error', error: { type: 'rate_limit_error', message: 'This request would exceed your account’s rate limit.' } })
          : { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'done' }], usage },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refuse: (how) => {
      refusing = how;
    },
    requests: () => [...asked],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A program that calls the model once from inside of a container, or again and again until it gets an answer. It notes each answer in a file. */
export const MODEL_CALLER = `
import { appendFileSync } from 'node:fs';
const [again] = process.argv.slice(2);
for (;;) {
  const answer = await fetch(process.env.PRACTICE_MODEL_URL + '/anthropic/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Go on.' }] }),
  });
  await answer.text();
  if (answer.ok) break;
  if (!again) throw new Error('the model answered ' + answer.status + ', retry-after ' + answer.headers.get('retry-after'));
  await new Promise((resolve) => setTimeout(resolve, 200));
}
appendFileSync('answers.txt', 'answered\\n');
`;
