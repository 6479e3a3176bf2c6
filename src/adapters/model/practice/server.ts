import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendError, sendJson } from './answer.ts';
import { type CompletionOptions, Completions } from './completions.ts';

interface PracticeOptions extends CompletionOptions {
  /** 0: any free port */
  port?: number;
}

interface PracticeServer {
  baseUrl: string;
  port: number;
  close(): Promise<void>;
}

const MODELS = { object: 'list', data: [{ id: 'practice', object: 'model', created: 0, owned_by: 'fetch' }] };

/** A deterministic model behind the OpenAI wire protocol, on loopback only and without a key. */
export async function startPracticeServer(options: PracticeOptions = {}): Promise<PracticeServer> {
  const completions = new Completions(options);
  const server = createServer((request, response) => route(completions, request, response));
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

function route(completions: Completions, request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '').split('?')[0]?.replace(/^\/v1/, '');
  if (request.method === 'GET' && path === '/models') sendJson(response, 200, MODELS);
  else if (request.method === 'POST' && path === '/chat/completions') {
    completions.answer(request, response).catch((error: Error) => {
      if (!response.headersSent) sendError(response, 400, error.message);
      else response.destroy();
    });
  } else sendError(response, 404, `no such endpoint: ${request.method} ${path}`);
}
