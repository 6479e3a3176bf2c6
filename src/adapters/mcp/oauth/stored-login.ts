import type { OAuthClientInformationMixed, OAuthMetadata, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { LoginRow, NewLogin } from '../../../store/owner/mcp-logins.ts';
import { type KeyPlace, type Sealer, sealerOf, WrongKey } from '../../encryption.ts';
import { McpError } from '../session.ts';

/**
 * A login as it is stored. It lies in PostgreSQL, because several processes use it and only one may renew it; and
 * encrypted with the key of FETCH_HOME, because backups of a database go further than that folder.
 */
export interface StoredLogin {
  /** the address that it is for: no other gets its token */
  url: string;
  issuer: string;
  metadata: Pick<OAuthMetadata, 'token_endpoint' | 'token_endpoint_auth_methods_supported' | 'revocation_endpoint'>;
  resource?: string | undefined;
  client: Pick<OAuthClientInformationMixed, 'client_id' | 'client_secret'> & {
    token_endpoint_auth_method?: string | undefined;
  };
  accessToken: string;
  refreshToken?: string | undefined;
  /** milliseconds since 1970; null: its server does not say */
  expiresAt: number | null;
  /** how long before that it is renewed */
  marginMs: number;
}

const MOST_MARGIN_MS = 60_000;
const LONGEST_TOKEN = 16_000;

/** @throws McpError where this process has no key */
function loginSealer(place: KeyPlace): Sealer {
  try {
    return sealerOf(place);
  } catch (error) {
    throw new McpError(`Logins at MCP servers cannot be read here: ${(error as Error).message}`);
  }
}

const placeOf = (server: string): string => `mcp/${server}`;

export const sealLogin = (place: KeyPlace, server: string, login: StoredLogin): NewLogin => ({
  server,
  url: login.url,
  issuer: login.issuer,
  sealed: loginSealer(place).seal(placeOf(server), JSON.stringify(login)),
  expires_at: login.expiresAt === null ? null : new Date(login.expiresAt),
  renewable: login.refreshToken !== undefined,
});

/** @throws McpError */
export function openLogin(place: KeyPlace, { server, sealed }: Pick<LoginRow, 'server' | 'sealed'>): StoredLogin {
  try {
    return JSON.parse(loginSealer(place).open(placeOf(server), sealed)) as StoredLogin;
  } catch (error) {
    if (!(error instanceof WrongKey)) throw error;
    throw new McpError(`The login at the MCP server ${server} cannot be read. ${error.message}`);
  }
}

/** What the tokens of an answer change in a login. @throws McpError */
export function takenTokens(server: string, { access_token, refresh_token, expires_in, token_type }: OAuthTokens) {
  const fits = (token: string) => token.length <= LONGEST_TOKEN && /^[\x21-\x7e]+$/.test(token);
  if (
    token_type.toLowerCase() !== 'bearer' ||
    !fits(access_token) ||
    (refresh_token !== undefined && !fits(refresh_token))
  )
    throw new McpError(`The login at the MCP server ${server} gave a token that cannot be used.`);
  const lifetime = expires_in !== undefined && expires_in > 0 ? expires_in * 1000 : null;
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    expiresAt: lifetime === null ? null : Date.now() + lifetime,
    marginMs: Math.min(MOST_MARGIN_MS, (lifetime ?? 0) / 10),
  };
}
