import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  selectResourceURL,
} from '@modelcontextprotocol/sdk/client/auth.js';
import type {
  AuthorizationServerMetadata,
  OAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { ConfiguredServer } from '../../../domain/extensions/mcp-config.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { McpError } from '../session.ts';
import { causeOf, checkAddress, type OAuthReach, oauthFetch } from './oauth-fetch.ts';

/** Where the login of a server is. Each address is checked, because it is the word of somebody else. */
export interface FoundLogin {
  issuer: string;
  metadata: AuthorizationServerMetadata;
  /** what the token shall be for, as the server spells it */
  resource: string | undefined;
  /** what the server asks for */
  scope: string | undefined;
}

const PROBE_MS = 15_000;
const LONGEST_SCOPE = 2_000;

/** Asks the server, and then the authorization server that it names. @throws McpError */
export async function findLoginPlace(
  { server, headers }: ConfiguredServer,
  url: string,
  reach: OAuthReach,
): Promise<FoundLogin> {
  const { name } = server;
  const fetchFn = oauthFetch(reach);
  const challenge = await challengeOf(name, url, headers);
  const resourceMetadata = await resourceMetadataOf(name, url, challenge.resourceMetadataUrl, fetchFn);
  const named = server.reach.over === 'http' ? server.reach.oauth?.issuer : undefined;
  const issuer = named ?? resourceMetadata?.authorization_servers?.[0] ?? new URL('/', url).href;
  checkAddress(reach, issuer);
  const metadata = await asked(name, discoverAuthorizationServerMetadata(issuer, { fetchFn }));
  if (!metadata)
    throw new McpError(
      `The MCP server ${name} does not say where its login is: ${inline(issuer, 200)} describes none.`,
    );
  // one that describes itself as another could collect codes and tokens of that one
  if (!sameIssuer(metadata.issuer, issuer))
    throw new McpError(
      `The login of the MCP server ${name} is at ${inline(issuer, 200)}, which says that it is ${inline(metadata.issuer, 200)}.`,
    );
  for (const address of [metadata.authorization_endpoint, metadata.token_endpoint, metadata.registration_endpoint])
    if (address) checkAddress(reach, address);
  // throws when the server says that it is another one
  if (resourceMetadata) await asked(name, selectResourceURL(url, {} as never, resourceMetadata));
  const scope = challenge.scope ?? resourceMetadata?.scopes_supported?.join(' ');
  return {
    issuer: metadata.issuer,
    metadata,
    resource: resourceMetadata?.resource,
    scope: scope?.slice(0, LONGEST_SCOPE) || undefined,
  };
}

/** What the server says to a request without a token. */
async function challengeOf(
  name: string,
  url: string,
  headers: Record<string, string>,
): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const sent = { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const response = await fetch(url, {
    method: 'POST',
    headers: sent,
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(PROBE_MS),
  }).catch((error) => {
    throw new McpError(`The MCP server ${name} cannot be reached: ${causeOf(error)}`);
  });
  await response.body?.cancel();
  return response.status === 401 ? extractWWWAuthenticateParams(response) : {};
}

/** Null: the server has none, as servers of the first version of the protocol; its login is at its own origin then. */
async function resourceMetadataOf(
  name: string,
  url: string,
  resourceMetadataUrl: URL | undefined,
  fetchFn: ReturnType<typeof oauthFetch>,
): Promise<OAuthProtectedResourceMetadata | null> {
  try {
    return await discoverOAuthProtectedResourceMetadata(
      url,
      resourceMetadataUrl ? { resourceMetadataUrl } : {},
      fetchFn,
    );
  } catch (error) {
    if (resourceMetadataUrl || error instanceof McpError) return await asked(name, Promise.reject(error));
    return null;
  }
}

/** Errors of the SDK as sentences. */
async function asked<T>(name: string, request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof McpError) throw error;
    throw new McpError(
      `The MCP server ${name} does not describe its login as it should: ${inline((error as Error).message, 300)}`,
    );
  }
}

const sameIssuer = (said: string, asked: string): boolean => plain(said) === plain(asked);
const plain = (issuer: string): string => (URL.parse(issuer)?.href ?? issuer).replace(/\/$/, '');
