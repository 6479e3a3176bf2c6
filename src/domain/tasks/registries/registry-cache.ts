import { INSIDE } from '../../../contracts/kennel.ts';

/**
 * The cache of package registries on a host, as its containers name it. A container asks for
 * `http://registry.npmjs.org.443.https.fetch.internal/left-pad` through its egress proxy and gets
 * `https://registry.npmjs.org/left-pad`. The origin is in the name and not in the path, so relative links of an index
 * stay right. `.internal` is reserved by ICANN, so the name can be no host's.
 */
const DOMAIN = '.fetch.internal';

/** Where something is kept: `host` as in a URL, without brackets, because IPv6 addresses have no name here. */
export interface Origin {
  scheme: 'http' | 'https';
  host: string;
  port: number;
}

/** A mark says that an index of another registry named this origin. Only the gate can make it. */
export interface NamedBy {
  mark: string;
  by: Origin;
}

const HOST = /^(?!.*\.\.)[a-z0-9_][a-z0-9_.-]*$/;
const NAME = /^(.+)\.(\d{1,5})\.(https?)$/;
const MARKED = /^(.+\.\d{1,5}\.https?)\.([0-9a-f]{32})\.(.+\.\d{1,5}\.https?)$/;
/** Of a host name. */
const LONGEST = 253;

/** The origin of an address; null where it can have no name. */
export function originOf(url: URL): Origin | null {
  const scheme = url.protocol === 'https:' ? 'https' : url.protocol === 'http:' ? 'http' : null;
  const host = url.hostname.replace(/\.$/, '');
  if (!scheme || !HOST.test(host)) return null;
  return { scheme, host, port: Number(url.port) || (scheme === 'https' ? 443 : 80) };
}

export const labelsOf = ({ scheme, host, port }: Origin): string => `${host}.${port}.${scheme}`;

/** The host name of an origin in the cache; null when it is too long for one. */
export function cachedHost(origin: Origin, named?: NamedBy): string | null {
  const name = `${labelsOf(origin)}${named ? `.${named.mark}.${labelsOf(named.by)}` : ''}${DOMAIN}`;
  return name.length > LONGEST ? null : name;
}

/** The address of a registry in the cache; null where it can have none. */
export function cachedAddress(address: string): string | null {
  const url = URL.parse(address);
  const origin = url && originOf(url);
  const host = origin && cachedHost(origin);
  return url && host ? `http://${host}${url.pathname}${url.search}` : null;
}

export const isCachedHost = (host: string): boolean => `.${host.replace(/\.$/, '')}`.endsWith(DOMAIN);

/** What a host name of the cache means; null when it means nothing. Whether its mark is true is not looked at. */
export function originNamed(host: string): { origin: Origin; named?: NamedBy } | null {
  if (!isCachedHost(host)) return null;
  const labels = host.slice(0, -DOMAIN.length);
  const [, first, mark, second] = MARKED.exec(labels) ?? [];
  if (!first || !mark || !second) {
    const origin = fromLabels(labels);
    return origin && { origin };
  }
  const [origin, by] = [fromLabels(first), fromLabels(second)];
  return origin && by && { origin, named: { mark, by } };
}

function fromLabels(labels: string): Origin | null {
  const [, host = '', port = '', scheme] = NAME.exec(labels) ?? [];
  const url = scheme ? URL.parse(`${scheme}://${host}:${port}/`) : null;
  const origin = url && originOf(url);
  // only the form that we write: an address such as 0x7f.1 is none
  return origin && labelsOf(origin) === labels ? origin : null;
}

/** Settings of a container that send its package managers to the cache of this host. */
interface CacheSettings {
  variables: Record<string, string>;
  /** in the folder of the gate's sockets, which a container cannot write */
  files: Record<string, string>;
}

const inside = (file: string): string => `${INSIDE.run}/gate/${file}`;

/**
 * What is said here counts less than the settings of the project itself: `.npmrc`, the index lines of
 * `requirements.txt`, `.cargo/config.toml`, `pom.xml`. A project has none for Go's proxy. Cargo and Maven know files of
 * HOME alone, which `enter.sh` writes.
 */
const MANAGERS: Record<string, (address: string) => Partial<CacheSettings>> = {
  npm: (address) => ({
    variables: { npm_config_globalconfig: inside('npmrc') },
    files: { npmrc: `registry=${address}\n` },
  }),
  pip: (address) => ({
    variables: { PIP_CONFIG_FILE: inside('pip.conf') },
    files: { 'pip.conf': `[global]\nindex-url = ${address}\ntrusted-host = ${new URL(address).hostname}\n` },
  }),
  go: (address) => ({ variables: { GOPROXY: `${address},direct` } }),
  cargo: (address) => ({ variables: { FETCH_MIRROR_CARGO: address } }),
  maven: (address) => ({ variables: { FETCH_MIRROR_MAVEN: address, FETCH_MIRROR_MAVEN_OF: 'central' } }),
};

/** `registries`: package managers and the addresses of their registries, as they named them themselves. */
export function cacheSettings(registries: ReadonlyMap<string, string>): CacheSettings {
  const all: CacheSettings = { variables: {}, files: {} };
  for (const [manager, registry] of registries) {
    const address = cachedAddress(registry);
    const own = address === null || /\s/.test(address) ? undefined : MANAGERS[manager]?.(address);
    Object.assign(all.variables, own?.variables);
    Object.assign(all.files, own?.files);
  }
  return all;
}
