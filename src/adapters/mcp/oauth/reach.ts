import type { Config } from '../../../config.ts';
import type { ConfiguredServer } from '../../../domain/extensions/mcp-config.ts';
import { isPublicAddress } from '../../web/address-guard.ts';
import type { OAuthReach } from './oauth-fetch.ts';
import type { KeyPlace } from './stored-login.ts';

/** What a process must know to use a login. */
export type LoginPlace = KeyPlace & Pick<Config, 'FETCH_ALLOW_PRIVATE_URLS'>;

/** Where the login of a server may lead: to what the owner's file names, and to public addresses. */
export function oauthReach({ server }: ConfiguredServer, url: string, config: LoginPlace): OAuthReach {
  const issuer = server.reach.over === 'http' ? server.reach.oauth?.issuer : undefined;
  const named = [url, ...(issuer ? [issuer] : [])].map((address) => new URL(address).origin);
  return {
    server: server.name,
    named,
    allows: (address) => config.FETCH_ALLOW_PRIVATE_URLS || isPublicAddress(address),
  };
}
