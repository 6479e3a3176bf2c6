import { extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { inline } from '../../../domain/text/foreign-text.ts';
import { McpError, NeedsLogin } from '../session.ts';
import type { ServerTokens } from './server-tokens.ts';

/**
 * Adds the token, and another one when the server refuses it. A refused request was not carried out, so it is sent
 * again.
 */
export const authorizedFetch =
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
export const withOwnHeader =
  (server: string, inner: FetchLike): FetchLike =>
  async (url, init) => {
    const response = await inner(url, init);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    throw new McpError(`The MCP server ${server} does not accept the Authorization header of mcp.json.`);
  };
