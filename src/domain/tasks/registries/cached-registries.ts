import { INSIDE } from '../../../contracts/kennel.ts';
import { cachedAddress } from './registry-cache.ts';

/** What a container needs so that its package managers ask the cache of this host. */
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
