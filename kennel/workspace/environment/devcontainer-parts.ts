import type { Node } from 'jsonc-parser';
import { type Asked, tool } from './manifests.ts';

/** Keys that reach beyond the walls of a container here. A person reads the reason beside the line. */
export const REFUSED: Record<string, string> = {
  initializeCommand: 'It would run on this machine, outside of every container.',
  dockerComposeFile: 'It would start other containers. Name what tests need as services instead.',
  runServices: 'It would start other containers.',
  mounts: 'It would show folders of this machine to the container.',
  workspaceMount: 'It would show another folder of this machine to the container.',
  privileged: 'It would take the walls of the container away.',
  capAdd: 'It would give the container rights of the system.',
  securityOpt: 'It would take a wall of the container away.',
  runArgs: 'It would change how the container is started.',
  appPort: 'It would open a port of this machine.',
  secrets: 'Secrets of this machine never enter a container.',
};
export const REFUSED_IN_BUILD: Record<string, string> = {
  options: 'It would change how the image is built.',
  cacheFrom: 'It would take layers from an image that somebody else can change.',
};
/** Variables with which the programs of the container itself would be changed. */
export const OWN_VARIABLE =
  /^(FETCH_|LD_|DYLD_|HOME$|PATH$|USER$|NODE_OPTIONS$|NODE_COMPILE_CACHE$|BASH_ENV$|ENV$|(HTTPS?|NO|ALL)_PROXY$)/i;

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
      packages: wordOf(given.packages ?? '')
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

/** Looks into a parsed JSON file whose places are known, so that a person can be shown the line. */

/** Key, value and offset of the key. */
export const properties = (node: Node): Array<[string, Node, number]> =>
  (node.children ?? []).flatMap(({ children: [key, value] = [], offset }) =>
    key && value ? [[String(key.value), value, offset] as [string, Node, number]] : [],
  );

export const texts = (node: Node): Array<[string, string | null, number | null]> =>
  node.type === 'object'
    ? properties(node).map(([name, value, at]) => [
        name,
        ['string', 'number', 'boolean'].includes(value.type) ? String(value.value).slice(0, 4_000) : null,
        at,
      ])
    : [['', null, null]];

export function* all(node: Node): Generator<Node> {
  yield node;
  for (const child of node.children ?? []) yield* all(child);
}

/** `false`, `[]`, `{}`, `""` and null ask for nothing. */
export const isEmpty = (node: Node): boolean =>
  node.type === 'null' ||
  node.value === false ||
  node.value === '' ||
  ((node.type === 'array' || node.type === 'object') && (node.children ?? []).length === 0);

/** Objects of `jsonc-parser` have no text of their own. */
const wordOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));

/** Shell lines of a lifecycle command: a text, a list of words, or an object of either. */
export function commands(value: unknown): string[] {
  if (typeof value === 'string') return value.trim() ? [value.slice(0, 4_000)] : [];
  if (Array.isArray(value))
    return value.length > 0
      ? [
          value
            .slice(0, 200)
            .map((word) => `'${wordOf(word).replaceAll("'", `'\\''`)}'`)
            .join(' '),
        ]
      : [];
  if (typeof value === 'object' && value !== null)
    return Object.values(value)
      .slice(0, 20)
      .flatMap((each) => (typeof each === 'object' && !Array.isArray(each) ? [] : commands(each)));
  return [];
}
