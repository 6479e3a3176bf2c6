import { addressesInNetworks } from '../../../adapters/kennel/apps/preview-link.ts';
import { asksForToken } from '../../../api/http/access/auth.ts';
import type { Config } from '../../../config.ts';
import { isLoopback } from '../../../domain/settings/shapes.ts';
import { hostIsWild } from './settings.ts';

/** What a supervisor reads on standard output once the runtime API serves: the lines of the contract. */
export function announcement(config: Config, token: string): string[] {
  const { runtimeHost: host, FETCH_RUNTIME_PORT: port } = config;
  return [
    `Runtime API listening on ${address(host, port)}`,
    ...authLines(config, token),
    'Security: this server is local-first. Do not expose it to untrusted networks.',
    ...(config.FETCH_MOBILE ? mobileLinks(config, token).map(({ what, url }) => `${`${what}:`.padEnd(6)} ${url}`) : []),
  ];
}

/**
 * A token that a person configured is known to them. One that was made is told, because nothing else tells a
 * supervisor.
 */
function authLines(config: Config, token: string): string[] {
  if (!asksForToken(config)) return ['Runtime API auth: off (--insecure). Every program of this machine may use it.'];
  if (config.runtimeToken !== undefined) return ['Runtime API auth: bearer token required for /v1/* routes.'];
  return [
    `Runtime API auth: generated bearer token, kept in ${config.FETCH_HOME}/runtime-token.`,
    `  Authorization: Bearer ${token}`,
    '  Set DEEPSEEK_RUNTIME_TOKEN or pass --auth-token for another one.',
  ];
}

/**
 * Where the page for phones is. `Local`: this machine. `LAN`: an address of it on a network. `URL`: the address that
 * was chosen.
 */
export function mobileLinks(
  config: Config,
  token: string,
  addresses = addressesInNetworks(),
): Array<{ what: 'Local' | 'LAN' | 'URL'; url: string }> {
  const { runtimeHost: host, FETCH_RUNTIME_PORT: port } = config;
  const query = asksForToken(config) ? `?token=${encodeURIComponent(token)}` : '';
  const link = (what: 'Local' | 'LAN' | 'URL', at: string) => ({ what, url: `${address(at, port)}/mobile${query}` });
  if (hostIsWild(config)) return [link('Local', '127.0.0.1'), ...addresses.map((each) => link('LAN', each))];
  return [link(isLoopback(host) ? 'Local' : 'URL', host)];
}

/** Said before the start, on standard error. */
export const NETWORK_WARNING =
  'WARNING: --mobile is binding to 0.0.0.0: every device of your networks reaches this port, over HTTP without encryption. Pass --host 127.0.0.1 to keep it to this machine.';

const SHORT = 16;

/** A device of the network can try words. Said before the start, on standard error. */
export const weakTokenWarning = ({
  runtimeToken,
  runtimeHost,
}: Pick<Config, 'runtimeToken' | 'runtimeHost'>): string | null =>
  runtimeToken !== undefined && runtimeToken.length < SHORT && !isLoopback(runtimeHost)
    ? `WARNING: the token has only ${runtimeToken.length} characters, and a device of your network may guess it. Leave it out, and a long one is made.`
    : null;

const address = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
