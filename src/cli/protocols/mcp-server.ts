import { bridgeStdio } from '../../adapters/mcp/serving/bridge.ts';
import { ApiError } from '../../domain/api-error.ts';
import type { Call } from '../setup/background/background.ts';
import { FoundServer } from '../setup/background/server.ts';

/**
 * `fetch mcp-server`: our tools for an MCP client, on standard input and output. The running instance has the session
 * and does the work. Returns when the client has left.
 */
export async function runMcp(call: Call): Promise<void> {
  const left = new AbortController();
  const server = new FoundServer(call, left.signal);
  const reach = (_: string | URL, init: RequestInit = {}): Promise<Response> =>
    server.patiently(async ({ baseUrl, token }) => {
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${token}`);
      const response = await fetch(`${baseUrl}/mcp`, { ...init, headers });
      // it passes, as when the API begins; everything else is for the client
      if (response.status >= 500) throw new ApiError(response.status, await response.text());
      return response;
    });
  await bridgeStdio(reach, (text) => void process.stderr.write(`${text}\n`));
  left.abort(new Error('The client has left.'));
  // open streams and the channel to a parent would keep this process alive
  process.exit();
}
