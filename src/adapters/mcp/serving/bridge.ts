import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** A stream that broke is taken up again for as long as the client waits. */
const RECONNECT = {
  initialReconnectionDelay: 250,
  maxReconnectionDelay: 2_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: Number.MAX_SAFE_INTEGER,
};

/**
 * Joins a client on standard input and output with the MCP endpoint of an instance: what comes here goes there, and
 * back. The instance has the session, so a restart of it only takes time. `reach` sends a request to the endpoint,
 * wherever that is. Resolves when the client has left.
 */
export async function bridgeStdio(reach: FetchLike, say: (text: string) => void): Promise<void> {
  const here = new StdioServerTransport();
  // the address is a name for the SDK; `reach` knows the real one
  const there = new StreamableHTTPClientTransport(new URL('http://fetch.invalid/mcp'), {
    fetch: reach,
    reconnectionOptions: RECONNECT,
  });
  const left = Promise.withResolvers<void>();
  here.onmessage = (message) => {
    there.send(message).catch((error: Error) => refuse(message, error));
  };
  there.onmessage = (message) => {
    const version = 'result' in message ? message.result.protocolVersion : undefined;
    if (typeof version === 'string') there.setProtocolVersion(version);
    void here.send(message);
  };
  // a client without an answer would wait for ever
  const refuse = (message: JSONRPCMessage, { message: why }: Error) => {
    if (!('method' in message && 'id' in message)) return say(why);
    void here.send({ jsonrpc: '2.0', id: message.id, error: { code: ErrorCode.InternalError, message: why } });
  };
  here.onerror = ({ message }) => say(message);
  process.stdin.on('end', left.resolve);
  process.stdin.on('close', left.resolve);
  await there.start();
  await here.start();
  await left.promise;
}
