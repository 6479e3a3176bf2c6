import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type { OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import express from 'express';
import { mcpServer, type OfferedTool, USUAL } from './server.ts';

/**
 * An MCP server with the login of the SDK, on one port of loopback. It says yes to everybody who opens its login page.
 */
export interface OAuthMcpServer {
  url: string;
  issuer: string;
  calls: Array<{ tool: string; args: Record<string, unknown> }>;
  offered: OfferedTool[];
  /** requests so far, as `POST /token refresh_token` */
  asked: string[];
  /** what `resource` tokens were asked for */
  resources: Array<string | undefined>;
  /** everything that must never be seen */
  secrets: string[];
  lifetimeSeconds: number;
  /** ends all access tokens; those that renew go on */
  expire(): void;
  /** ends all logins */
  forget(): void;
  /** takes a request before the server does; true: it has answered */
  first: ((request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>) | null;
  /** runs when tokens are about to be given */
  beforeTokens: (() => void | Promise<void>) | null;
  close(): Promise<void>;
}

export async function startOAuthServer(): Promise<OAuthMcpServer> {
  const clients = new Map<string, OAuthClientInformationFull>();
  const codes = new Map<string, { challenge: string; client: string }>();
  const access = new Map<string, { client: string; until: number }>();
  const renewals = new Map<string, string>();
  const give = async (client: string, resource: URL | undefined): Promise<OAuthTokens> => {
    made.resources.push(resource?.href);
    const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` };
    made.secrets.push(tokens.access_token, tokens.refresh_token);
    await made.beforeTokens?.();
    access.set(tokens.access_token, { client, until: Date.now() / 1000 + made.lifetimeSeconds });
    renewals.set(tokens.refresh_token, client);
    return { ...tokens, token_type: 'Bearer', expires_in: made.lifetimeSeconds };
  };
  const provider: OAuthServerProvider = {
    clientsStore: {
      getClient: (id) => clients.get(id),
      registerClient: (client) => {
        const full = { ...client, client_id: randomUUID(), client_id_issued_at: 0 } as OAuthClientInformationFull;
        clients.set(full.client_id, full);
        return full;
      },
    },
    async authorize(client, { state, redirectUri, codeChallenge }, response) {
      const code = `code-${randomUUID()}`;
      made.secrets.push(code);
      codes.set(code, { challenge: codeChallenge, client: client.client_id });
      const back = new URL(redirectUri);
      back.searchParams.set('code', code);
      if (state) back.searchParams.set('state', state);
      response.redirect(back.href);
    },
    challengeForAuthorizationCode: async (_, code) => codes.get(code)?.challenge ?? '',
    async exchangeAuthorizationCode(client, code, _verifier, _redirect, resource) {
      // a code is used once
      if (!codes.delete(code)) throw new InvalidGrantError('no such code');
      return await give(client.client_id, resource);
    },
    async exchangeRefreshToken(client, token, _scopes, resource) {
      if (!renewals.delete(token)) throw new InvalidGrantError(`no such token: ${token}`);
      return await give(client.client_id, resource);
    },
    async verifyAccessToken(token) {
      const known = access.get(token);
      if (!known || known.until < Date.now() / 1000) throw new InvalidTokenError('It has ended.');
      return { token, clientId: known.client, scopes: [], expiresAt: known.until };
    },
    async revokeToken(_, { token }) {
      renewals.delete(token);
    },
  };
  const app = express();
  const http = createServer(async (request, response) => {
    if (await made.first?.(request, response)) return;
    app(request, response);
  });
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const ledger = { calls: [] as OAuthMcpServer['calls'] };
  const made: OAuthMcpServer = {
    ...ledger,
    url: `${origin}/mcp`,
    issuer: `${origin}/`,
    offered: [...USUAL],
    asked: [],
    resources: [],
    secrets: [],
    lifetimeSeconds: 3_600,
    expire: () => access.clear(),
    forget: () => {
      access.clear();
      renewals.clear();
    },
    first: null,
    beforeTokens: null,
    close: () =>
      new Promise((closed) => {
        http.close(() => closed());
        http.closeAllConnections();
      }),
  };
  const unlimited = { rateLimit: false as const };
  app.use('/token', express.urlencoded({ extended: false }));
  app.use((request, _, next) => {
    made.asked.push(
      [request.method, request.path, (request.body as { grant_type?: string } | undefined)?.grant_type]
        .filter(Boolean)
        .join(' '),
    );
    next();
  });
  app.use(
    mcpAuthRouter({
      provider,
      issuerUrl: new URL(origin),
      resourceServerUrl: new URL(made.url),
      authorizationOptions: unlimited,
      tokenOptions: unlimited,
      clientRegistrationOptions: unlimited,
      revocationOptions: unlimited,
    }),
  );
  app.use(
    '/mcp',
    requireBearerAuth({
      verifier: provider,
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(new URL(made.url)),
    }),
  );
  app.post('/mcp', async (request, response) => {
    const server = mcpServer(
      () => made.offered,
      ledger,
      () => request.socket.destroy(),
    );
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => void transport.close().then(() => server.close()));
    await server.connect(transport as never);
    await transport.handleRequest(request, response);
  });
  return made;
}
