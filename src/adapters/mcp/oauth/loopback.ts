import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpError } from '../session.ts';

/** Where the browser comes back to at the end of a login: a port of this machine that no other machine reaches. */
interface Loopback {
  /** the address to come back to */
  redirect: string;
  close(): void;
}

const PATH = '/callback';

/**
 * `answered` gets what the browser brings, and says what the person reads there. @throws McpError when the port is
 * taken
 */
export async function listenOnLoopback(
  port: number,
  answered: (answer: URLSearchParams) => Promise<{ ok: boolean; text: string }>,
): Promise<Loopback> {
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '', 'http://127.0.0.1');
    if (request.method !== 'GET' || url?.pathname !== PATH) return say(response, 404, 'There is nothing here.');
    answered(url.searchParams).then(
      ({ ok, text }) => say(response, ok ? 200 : 400, text),
      () => say(response, 500, 'This did not work. The terminal says why.'),
    );
  });
  await new Promise<void>((listening, failed) => {
    server.once('error', (error) =>
      failed(new McpError(`Port ${port} of this machine cannot be used for the login: ${error.message}`)),
    );
    server.listen(port, '127.0.0.1', listening);
  });
  return {
    redirect: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

/**
 * Plain text: nothing that an address says becomes a page. The address has the code, so no page that is opened next is
 * told of it.
 */
function say(response: ServerResponse, status: number, text: string): void {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  };
  response.writeHead(status, headers).end(`${text}\n`);
}
