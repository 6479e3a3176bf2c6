import { existsSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';

/**
 * Where this program lies. A clone runs `src/*.ts` as it is. An installed package runs `dist/src/*.js`, which `npm
 * pack` builds (`scripts/build.ts`), because Node strips no types below `node_modules`.
 */

const manifest = findPackageJSON('..', import.meta.url)!;

/** The folder of package.json, in a clone as in an installed package. */
export const PACKAGE_ROOT = dirname(manifest);

export const { version: VERSION } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };

/** `.ts` in a clone, `.js` when built. For files that are named at run time: nothing rewrites those names. */
export const CODE_EXTENSION = extname(import.meta.url);

/** A clone puts no `fetch` on the path, unless it was linked there by that name. */
const isClone = existsSync(join(PACKAGE_ROOT, 'src', 'cli')) && basename(process.argv[1] ?? '') !== 'fetch';

/** A command of this program as a person types it here. */
export const typedCommand = (name: string): string => `${isClone ? 'npm run fetch --' : 'fetch'} ${name}`;

/** The same for every command that a text names, such as "Start it: fetch up". `names`: of the commands. */
export function withTypedCommands(text: string, names: readonly string[], clone = isClone): string {
  if (!clone || !text.includes('fetch ')) return text;
  return text.replace(
    new RegExp(`(^|[\\s"'\`(])fetch (?=(?:${names.join('|')})(?![\\w-]))`, 'g'),
    '$1npm run fetch -- ',
  );
}

/** The command that runs the install script of a package of ours, wherever the person is. */
export const rebuildCommand = (dependency: string): string =>
  `cd ${PACKAGE_ROOT} && npm rebuild ${dependency} --foreground-scripts`;
