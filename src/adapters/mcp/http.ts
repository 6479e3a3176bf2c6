import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { McpError, type WatchedTransport } from './session.ts';

/** Of one answer, and of all parts of a streamed one. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Streamable HTTP to the address that the owner configured, and to no other: a redirect to another origin is an error. */
export function httpTransport(server: string, url: string, headers: Record<string, string>, authProvider?: OAuthClientProvider): WatchedTransport {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: boundedFetch(server, reject),
    redirectPolicy: 'same-origin',
    ...(authProvider && { authProvider }),
  });
  // its optional fields are declared without `undefined`
  return { transport: transport as unknown as Transport, broken };
}

/** `onBroken`: the stream of an answer ended in the middle, which the SDK only reports as an event. */
const boundedFetch =
  (server: string, onBroken: (error: McpError) => void): FetchLike =>
  async (url, init) => {
    const { method = 'GET', headers } = init ?? {};
    // the stream of a server that speaks unasked: nobody here listens
    if (method === 'GET' && new Headers(headers).get('accept') === 'text/event-stream' && !new Headers(headers).has('last-event-id'))
      return new Response(null, { status: 405 });
    const response = await fetch(url, init).catch((error: Error) => {
      throw init?.signal?.aborted ? error : new McpError(`The MCP server ${server} cannot be reached: ${causeOf(error)}`);
    });
    if (!response.body) return response;
    const body = bounded(response.body, server, method === 'POST' ? onBroken : () => {});
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  };

function bounded(body: ReadableStream<Uint8Array>, server: string, onBroken: (error: McpError) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  let left = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const fail = (why: string) => {
        const error = new McpError(`The MCP server ${server} ${why}`);
        onBroken(error);
        controller.error(error);
      };
      try {
        const { done, value } = await reader.read();
        // the reader of the answer has left, which ends the stream as well
        if (left) return;
        if (done) return controller.close();
        size += value.byteLength;
        if (size <= MOST_BYTES) return controller.enqueue(value);
        await reader.cancel().catch(() => {});
        fail(`answered with more than ${MOST_BYTES / 1024 / 1024} MB.`);
      } catch (error) {
        if (left) return;
        fail(`ended its answer in the middle: ${causeOf(error)}`);
      }
    },
    cancel: async (reason) => {
      left = true;
      await reader.cancel(reason).catch(() => {});
    },
  });
}

function causeOf(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  return (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
}
