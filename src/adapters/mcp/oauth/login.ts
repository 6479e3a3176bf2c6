import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exchangeAuthorization, registerClient, startAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { ConfiguredServer } from '../../../domain/extensions/mcp-config.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { hasOwnToken } from '../http.ts';
import { McpError } from '../session.ts';
import { type FoundLogin, findLoginPlace } from './discovery.ts';
import { checkAddress, type LoginPlace, oauthFetch, oauthReach } from './oauth-fetch.ts';
import { type StoredLogin, takenTokens } from './stored-login.ts';

/** Where the browser goes, and what becomes of the address that it comes back to. Nothing is stored here. */
interface BegunLogin {
  /** what the person opens */
  address: string;
  /** of the authorization server */
  issuer: string;
  /** @throws OtherLogin when these are not the answer to this login; McpError when the login has failed */
  finish(answer: URLSearchParams): Promise<StoredLogin>;
}

/** An answer with another state: somebody else's, or of an earlier login. The login goes on waiting. */
export class OtherLogin extends McpError {}

/**
 * Asks the server for its login, and makes the address to open. `redirect`: the address on loopback that it ends at.
 * @throws McpError
 */
export async function beginLogin(
  configured: ConfiguredServer,
  { redirect, scope, config }: { redirect: string; scope?: string | undefined; config: LoginPlace },
): Promise<BegunLogin> {
  const { name, reach: at } = configured.server;
  if (at.over !== 'http') throw new McpError(`The MCP server ${name} runs in a container here, and has no login.`);
  if (hasOwnToken(configured.headers))
    throw new McpError(`The MCP server ${name} gets the Authorization header of mcp.json. Remove it there to log in.`);
  const reach = oauthReach(configured, at.url, config);
  const found = await findLoginPlace(configured, at.url, reach);
  const wanted = scope ?? at.oauth?.scope ?? lastingScope(found);
  const fetchFn = oauthFetch(reach);
  const asked = async <T>(what: string, request: Promise<T>): Promise<T> => {
    try {
      return await request;
    } catch (error) {
      throw error instanceof McpError
        ? error
        : new McpError(`${found.issuer} ${what}: ${inline((error as Error).message, 300)}`);
    }
  };
  const client = await asked(
    'does not take Fetch as a client',
    clientOf(configured, found, { redirect, scope: wanted, fetchFn }),
  );
  const state = randomBytes(32).toString('base64url');
  const { metadata, issuer, resource } = found;
  const { authorizationUrl, codeVerifier } = await asked(
    'cannot be used',
    startAuthorization(issuer, {
      metadata,
      clientInformation: client,
      redirectUrl: redirect,
      state,
      ...(wanted !== undefined && { scope: wanted }),
      ...(resource !== undefined && { resource: resource as never }),
    }),
  );
  const finish = async (answer: URLSearchParams): Promise<StoredLogin> => {
    const code = codeOf(answer, { name, state, found });
    const exchanged = exchangeAuthorization(issuer, {
      metadata,
      clientInformation: client,
      authorizationCode: code,
      codeVerifier,
      redirectUri: redirect,
      ...(resource !== undefined && { resource: resource as never }),
      fetchFn,
    });
    return storedLogin(name, at.url, found, client, await asked('gave no token', exchanged));
  };
  return { address: checkAddress(reach, authorizationUrl).href, issuer, finish };
}

/** Without a token that renews, the owner would have to log in every hour. */
function lastingScope({ scope, metadata }: FoundLogin): string | undefined {
  const lasting =
    metadata.scopes_supported?.includes('offline_access') && !scope?.split(' ').includes('offline_access');
  return lasting ? [scope, 'offline_access'].filter(Boolean).join(' ') : scope;
}

/**
 * The client of the owner, else one that is registered now: authorization servers forget old ones, and would show an
 * error to the person.
 */
async function clientOf(
  { server, clientSecret }: ConfiguredServer,
  { issuer, metadata }: FoundLogin,
  { redirect, scope, fetchFn }: { redirect: string; scope: string | undefined; fetchFn: ReturnType<typeof oauthFetch> },
): Promise<OAuthClientInformationMixed> {
  const clientId = server.reach.over === 'http' ? server.reach.oauth?.clientId : undefined;
  if (clientId !== undefined)
    return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  if (!metadata.registration_endpoint)
    throw new McpError(
      `${issuer} registers no clients by itself. Register one there, with the redirect address ${redirect}, and write its id to mcp.json.`,
    );
  return await registerClient(issuer, {
    metadata,
    clientMetadata: {
      client_name: 'Fetch',
      redirect_uris: [redirect],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    ...(scope !== undefined && { scope }),
    fetchFn,
  });
}

function codeOf(
  answer: URLSearchParams,
  { name, state, found }: { name: string; state: string; found: FoundLogin },
): string {
  const given = Buffer.from(answer.get('state') ?? '');
  const expected = Buffer.from(state);
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new OtherLogin('This is not the answer to this login.');
  // RFC 9207: the answer of another authorization server, which would get a code of this one
  const iss = answer.get('iss');
  const says = (found.metadata as Record<string, unknown>).authorization_response_iss_parameter_supported === true;
  if (iss !== null ? iss !== found.issuer : says)
    throw new McpError(
      `The login of the MCP server ${name} was answered by another authorization server than ${found.issuer}.`,
    );
  const error = answer.get('error');
  if (error !== null) {
    const words = [error, answer.get('error_description')]
      .filter((each) => each !== null)
      .map((each) => inline(each, 200));
    throw new McpError(`${found.issuer} refused the login: ${words.join(', ')}`);
  }
  const code = answer.get('code');
  if (!code) throw new McpError(`${found.issuer} answered the login without a code.`);
  return code;
}

function storedLogin(
  name: string,
  url: string,
  { issuer, metadata, resource }: FoundLogin,
  { client_id, client_secret, ...more }: OAuthClientInformationMixed,
  tokens: Parameters<typeof takenTokens>[1],
): StoredLogin {
  const { token_endpoint, token_endpoint_auth_methods_supported: methods } = metadata;
  const { revocation_endpoint } = metadata as { revocation_endpoint?: string };
  const method = (more as { token_endpoint_auth_method?: string }).token_endpoint_auth_method;
  return {
    url,
    issuer,
    metadata: {
      token_endpoint,
      ...(methods && { token_endpoint_auth_methods_supported: methods }),
      ...(revocation_endpoint && { revocation_endpoint }),
    },
    resource,
    client: {
      client_id,
      ...(client_secret !== undefined && { client_secret }),
      ...(method !== undefined && { token_endpoint_auth_method: method }),
    },
    ...takenTokens(name, tokens),
  };
}

/** Tells the authorization server that a login is over (RFC 7009). False when it could not be told. @throws McpError */
export async function revokeLogin(
  configured: ConfiguredServer,
  { url, metadata, client, refreshToken, accessToken }: StoredLogin,
  config: LoginPlace,
) {
  if (!metadata.revocation_endpoint) return false;
  const { client_id, client_secret } = client;
  const body = new URLSearchParams({
    token: refreshToken ?? accessToken,
    client_id,
    ...(client_secret !== undefined && { client_secret }),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await oauthFetch(oauthReach(configured, url, config))(metadata.revocation_endpoint, {
    method: 'POST',
    headers,
    body,
  });
  return response.ok;
}

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
