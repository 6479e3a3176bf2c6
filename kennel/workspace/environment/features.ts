import { type Asked, tool } from './manifests.ts';

/**
 * Features of devcontainers that are packages, and nothing else. A feature is a shell script of its author, so no other
 * one is used.
 */
const OFFICIAL = /^ghcr\.io\/devcontainers\/features\/([a-z-]+)(?::[\w.-]+)?$/;
const APT =
  /^ghcr\.io\/(?:devcontainers-contrib|devcontainers-extra|rocker-org)\/(?:devcontainer-)?features\/apt-(?:get-)?packages(?::[\w.-]+)?$/;
/** What every image has already, or what changes nothing in a container without a person inside. */
const NOTHING = new Set(['common-utils', 'git']);

/** What a feature asks for; null where it is not known. */
export function featureOf(name: string, options: unknown): { asked: Asked[]; packages: string[] } | null {
  const given = (typeof options === 'object' && options !== null ? options : {}) as {
    version?: unknown;
    packages?: unknown;
  };
  if (APT.test(name))
    return {
      asked: [],
      packages: String(given.packages ?? '')
        .split(/[\s,]+/)
        .filter(Boolean),
    };
  const official = OFFICIAL.exec(name)?.[1];
  if (official === undefined) return null;
  if (NOTHING.has(official)) return { asked: [], packages: [] };
  const version = typeof options === 'string' ? options : typeof given.version === 'string' ? given.version : null;
  const asked = tool(official, version !== null && /\d/.test(version) ? version : null);
  return asked.length > 0 ? { asked, packages: [] } : null;
}
