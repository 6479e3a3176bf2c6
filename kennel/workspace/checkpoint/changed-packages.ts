import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats } from 'node:fs';
import { join, relative } from 'node:path';
import { LIMITS } from '../limits.ts';

/**
 * Installed packages that were changed by hand. An installation writes all files of a package, with its manifest. A
 * later change of one of its files leaves the manifest as old as it was. No program can set the time that is compared.
 */

interface Walk {
  /** ms since 1970: what is older was there before the task */
  since: number;
  /** entries that it may still look at */
  left: number;
}

/** `at`: the second in which the task began. Paths are relative to `root`. */
export function changedPackages(root: string, at: number): string[] {
  const walk: Walk = { since: (at + 1) * 1000, left: LIMITS.walkEntries };
  const top = join(root, 'node_modules');
  const stores = namesIn(join(top, '.pnpm')).map((name) => join(top, '.pnpm', name, 'node_modules'));
  const found = [...programsIn(top, walk), ...[top, ...stores].flatMap((folder) => packagesIn(folder, walk))];
  return found.slice(0, LIMITS.listedFiles).map((path) => relative(root, path));
}

/** Programs in place of the links that an installation makes. */
function programsIn(modules: string, { since }: Walk): string[] {
  const folder = join(modules, '.bin');
  return namesIn(folder)
    .map((name) => join(folder, name))
    .filter((path) => {
      const stats = statsOf(path);
      if (!stats || stats.ctimeMs < since) return false;
      // pnpm writes a small program that leads to that of the package
      if (stats.isFile())
        return !/^basedir=\$\(dirname /m.test(textOf(path)) || !/node_modules|\$basedir\//.test(textOf(path));
      return stats.isSymbolicLink() && !leadsInto(path, modules);
    });
}

function leadsInto(path: string, folder: string): boolean {
  try {
    return realpathSync(path).startsWith(`${realpathSync(folder)}/`);
  } catch {
    // a link to nothing runs nothing
    return true;
  }
}

function packagesIn(modules: string, walk: Walk): string[] {
  return namesIn(modules).flatMap((name) => {
    const folder = join(modules, name);
    if (name.startsWith('.') || !statsOf(folder)?.isDirectory()) return [];
    if (name.startsWith('@')) return packagesIn(folder, walk);
    return [...(isChanged(folder, walk) ? [folder] : []), ...packagesIn(join(folder, 'node_modules'), walk)];
  });
}

/** Packages inside of it have manifests of their own. */
function isChanged(folder: string, walk: Walk): boolean {
  const manifest = statsOf(join(folder, 'package.json'));
  return manifest !== null && manifest.ctimeMs < walk.since && hasNewer(folder, walk);
}

function hasNewer(folder: string, walk: Walk): boolean {
  for (const name of namesIn(folder)) {
    if (walk.left-- <= 0) return false;
    const path = join(folder, name);
    const stats = statsOf(path);
    if (name === 'node_modules' || (stats?.isDirectory() && name.startsWith('.'))) continue;
    if (stats?.isDirectory() ? hasNewer(path, walk) : stats?.isFile() && stats.ctimeMs >= walk.since) return true;
  }
  return false;
}

const statsOf = (path: string): Stats | null => lstatSync(path, { throwIfNoEntry: false }) ?? null;

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(0, 10_000);
  } catch {
    return '';
  }
}
