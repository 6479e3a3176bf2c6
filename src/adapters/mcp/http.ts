import { extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { inline } from '../../domain/text/foreign-text.ts';
import { causeOf } from './oauth/oauth-fetch.ts';
import type { ServerTokens } from './oauth/server-tokens.ts';
import { hiding, McpError, NeedsLogin, type WatchedTransport } from './session.ts';

/** Of one answer, and of all parts of a streamed one. */
const MOST_BYTES = 4 * 1024 * 1024;

interface HttpServer {
  name: string;
  url: string;
  headers: Record<string, string>;
  /** the owner's login; null where a header of the owner takes its place, or nobody can have logged in */
  tokens: ServerTokens | null;
}

/**
 * Adds the token, and another one when the server refuses it. A refused request was not carried out, so it is sent
 * again.
 */
const authorizedFetch =
  (server: string, inner: FetchLike, tokens: ServerTokens): FetchLike =>
  async (url, init) => {
    const send = (token: string | null) => {
      const headers = new Headers(init?.headers);
      if (token !== null) headers.set('authorization', `Bearer ${token}`);
      return inner(url, { ...init, headers });
    };
    const token = await tokens.current();
    let response = await send(token);
    if (response.status === 401) {
      await response.body?.cancel();
      response = await send(await tokens.instead(token));
    }
    if (response.status !== 401 && response.status !== 403) return response;
    const { scope, error } = extractWWWAuthenticateParams(response);
    if (response.status === 401) {
      await response.body?.cancel();
      throw new NeedsLogin(server, 'It does not accept the one from before.');
    }
    if (error !== 'insufficient_scope') return response;
    await response.body?.cancel();
    throw new NeedsLogin(
      server,
      `The one from before does not reach for this${scope ? ` (it wants the scope "${inline(scope, 200)}")` : ''}.`,
    );
  };

/** The owner's own header takes the place of a login. */
const withOwnHeader =
  (server: string, inner: FetchLike): FetchLike =>
  async (url, init) => {
    const response = await inner(url, init);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    throw new McpError(`The MCP server ${server} does not accept the Authorization header of mcp.json.`);
  };

/**
 * Streamable HTTP to the address that the owner configured, and to no other: a redirect to another origin is an error.
 */
export function httpTransport({ name, url, headers, tokens }: HttpServer): WatchedTransport {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const bounded = boundedFetch(name, reject);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: hasOwnToken(headers)
      ? withOwnHeader(name, bounded)
      : tokens
        ? authorizedFetch(name, bounded, tokens)
        : bounded,
    redirectPolicy: 'same-origin',
  });
  // its optional fields are declared without `undefined`
  return {
    transport: transport as unknown as Transport,
    broken,
    hide: hiding(() => [...Object.values(headers), ...(tokens?.secrets() ?? [])]),
  };
}

/** Whether the owner has written a token into the configuration. */
export const hasOwnToken = (headers: Record<string, string>): boolean => new Headers(headers).has('authorization');

/** `onBroken`: the stream of an answer ended in the middle, which the SDK only reports as an event. */
const boundedFetch =
  (server: string, onBroken: (error: McpError) => void): FetchLike =>
  async (url, init) => {
    const { method = 'GET', headers } = init ?? {};
    // the stream of a server that speaks unasked: nobody here listens
    if (
      method === 'GET' &&
      new Headers(headers).get('accept') === 'text/event-stream' &&
      !new Headers(headers).has('last-event-id')
    )
      return new Response(null, { status: 405 });
    const response = await fetch(url, init).catch((error: Error) => {
      throw init?.signal?.aborted
        ? error
        : new McpError(`The MCP server ${server} cannot be reached: ${causeOf(error)}`);
    });
    if (!response.body) return response;
    const body = bounded(response.body, server, method === 'POST' ? onBroken : () => {});
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  };

function bounded(
  body: ReadableStream<Uint8Array>,
  server: string,
  onBroken: (error: McpError) => void,
): ReadableStream<Uint8Array> {
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
