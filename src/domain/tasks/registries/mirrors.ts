import { cachedAddress } from './registry-cache.ts';

/**
 * Registries of the owner that stand in for public ones (FETCH_KENNEL_MIRRORS):
 * `npm=http://10.0.0.5:4873,cargo=https://crates.example.com/index/`.
 */

/**
 * How a package manager is told of its mirror: environment variables. Cargo and Maven know files alone, which
 * `enter.sh` writes inside of the container.
 */
const MANAGERS = {
  npm: ({ url }: Mirror) => ({ npm_config_registry: url }),
  pip: ({ url, host, plain }: Mirror) => ({
    PIP_INDEX_URL: url,
    UV_DEFAULT_INDEX: url,
    ...(plain && { PIP_TRUSTED_HOST: host, UV_INSECURE_HOST: host }),
  }),
  // the database of checksums is another server; `go.sum` is compared in any case
  go: ({ url }: Mirror) => ({ GOPROXY: url, GOSUMDB: 'off' }),
  cargo: ({ url }: Mirror) => ({ FETCH_MIRROR_CARGO: url }),
  maven: ({ url }: Mirror) => ({ FETCH_MIRROR_MAVEN: url }),
} satisfies Record<string, (mirror: Mirror) => Record<string, string>>;

type Manager = keyof typeof MANAGERS;

/** Where a mirror is. `plain`: it speaks HTTP without TLS. */
export interface MirrorAddress {
  host: string;
  port: number;
  plain: boolean;
}

interface Mirror extends MirrorAddress {
  manager: Manager;
  url: string;
}

const isManager = (name: string): name is Manager => Object.hasOwn(MANAGERS, name);
const HOW = 'Use for example npm=http://10.0.0.5:4873,pip=https://pypi.example.com/simple.';

/** The mirrors of a setting. Throws a sentence for a wrong entry. */
export function mirrorsOf(setting: string): Mirror[] {
  const found = new Map<Manager, Mirror>();
  for (const entry of setting.split(',').flatMap((part) => part.trim() || [])) {
    const [, name = '', address = ''] = /^([a-z]+)=(\S+)$/.exec(entry) ?? [];
    if (!isManager(name))
      throw new Error(`"${entry}" does not begin with one of ${Object.keys(MANAGERS).join('=, ')}=. ${HOW}`);
    if (found.has(name)) throw new Error(`${name} has two mirrors. ${HOW}`);
    const url = URL.parse(address);
    if (
      !url ||
      !['http:', 'https:'].includes(url.protocol) ||
      url.username ||
      url.password ||
      url.hash ||
      !url.hostname
    )
      throw new Error(`"${address}" is not an http or https address without a password. ${HOW}`);
    const plain = url.protocol === 'http:';
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    found.set(name, { manager: name, url: url.href, host, port: Number(url.port) || (plain ? 80 : 443), plain });
  }
  return [...found.values()];
}

/** What is wrong with the setting; null when nothing is. */
export function mirrorsProblem(setting: string): string | null {
  try {
    mirrorsOf(setting);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Environment variables of an agent's container, by which package managers use the mirrors. `isCached`: this host has a
 * cache of registries.
 */
export const mirrorEnvironment = (setting: string, isCached = false): Record<string, string> =>
  Object.assign(
    {},
    ...mirrorsOf(setting).map((mirror) => MANAGERS[mirror.manager](isCached ? inCache(mirror) : mirror)),
  );

/** Of a mirror without TLS the gate sees every request by itself. */
function inCache(mirror: Mirror): Mirror {
  const url = mirror.plain ? null : cachedAddress(mirror.url);
  return url === null ? mirror : { ...mirror, url, host: new URL(url).hostname, plain: true };
}
