import type { ConfiguredServer } from '../../../domain/extensions/mcp-config.ts';
import { oauthFetch } from './oauth-fetch.ts';
import { type LoginPlace, oauthReach } from './reach.ts';
import type { StoredLogin } from './stored-login.ts';

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
