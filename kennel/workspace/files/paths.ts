import { lstatSync, readdirSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { Refusal } from '../refusal.ts';
import { isGitName, isPlainName, lookAlike, nearest, shown } from './names.ts';

/** A checked path: no part of it leads out of the root or into git's own files. */
export interface Inside {
  /** relative to the root, `.` for the root itself */
  path: string;
  /** absolute; its folder is real. The last component may be a link when it comes from `linkInside` */
  absolute: string;
  /** null: nothing exists there */
  stats: Stats | null;
}

/** The components of a path from the model. Refused when they cannot be inside the root. */
function components(path: string): string[] {
  if (path.includes('\0')) throw new Refusal('The path contains a NUL character.');
  if (path.startsWith('/') || path.startsWith('~') || /^[A-Za-z]:[\\/]/.test(path)) {
    throw new Refusal(`${shown(path)} is an absolute path. Give a path relative to the workspace, like src/main.ts.`);
  }
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..'))
    throw new Refusal(`${shown(path)} leads upwards with "..". Give a path relative to the root of the workspace.`);
  if (parts.some(isGitName))
    throw new Refusal(
      `${shown(path)} is inside of git's own files, which are not read or changed here. Use the git tools.`,
    );
  return parts;
}

/**
 * Follows links, each of which must stay inside the root. A missing path is refused, with the nearest existing name.
 */
export function existing(root: string, path: string): Inside & { stats: Stats } {
  const parts = components(path);
  let at = realpathSync(root);
  const top = at;
  for (const part of parts) {
    const next = join(at, part);
    const stats = lstatOrNull(next);
    if (!stats) throw new Refusal(notFound(top, path, at, part));
    at = stats.isSymbolicLink() ? followed(top, next, path) : next;
  }
  return { path: parts.join('/') || '.', absolute: at, stats: lstatSync(at) };
}

/** The entry itself: links among its folders are followed, a link as the last component is not. */
export function linkInside(root: string, path: string): Inside & { stats: Stats } {
  const parts = components(path);
  const name = parts.pop();
  if (name === undefined) throw new Refusal('The root of the workspace itself cannot be changed by this.');
  const folder = existing(root, parts.join('/'));
  const absolute = join(folder.absolute, name);
  const stats = lstatOrNull(absolute);
  if (!stats) throw new Refusal(notFound(realpathSync(root), path, folder.absolute, name));
  return { path: [...parts, name].join('/'), absolute, stats };
}

/**
 * Where a file will be written. Existing parts are followed as in `existing`; new names must be plain and unlike their
 * neighbours.
 */
export function writable(root: string, path: string): Inside {
  const parts = components(path);
  if (parts.length === 0) throw new Refusal('The root of the workspace is a folder.');
  const top = realpathSync(root);
  let at = top;
  for (const [index, part] of parts.entries()) {
    const next = join(at, part);
    const last = index === parts.length - 1;
    const stats = lstatOrNull(next);
    if (!stats) {
      for (const fresh of parts.slice(index)) checkNewName(fresh);
      const twin = lookAlike(part, readdirSync(at));
      if (twin !== null) {
        throw new Refusal(
          `${shown(twin)} is there already and looks like ${shown(part)} (letter case or look-alike letters). Write to ${shown(twin)}, or delete it first.`,
        );
      }
      return { path: parts.join('/'), absolute: join(at, ...parts.slice(index)), stats: null };
    }
    at = stats.isSymbolicLink() ? followed(top, next, path) : next;
    const kind = lstatSync(at);
    if (!last && !kind.isDirectory())
      throw new Refusal(`${shown(parts.slice(0, index + 1).join('/'))} is a file, not a folder.`);
    if (last) return { path: parts.join('/'), absolute: at, stats: kind };
  }
  throw new Error('unreachable');
}

function checkNewName(name: string): void {
  if (!isPlainName(name))
    throw new Refusal(`The name ${shown(name)} contains control or invisible characters. Choose a plain name.`);
  if (Buffer.byteLength(name) > 255) throw new Refusal('The name is longer than 255 bytes.');
}

/** The real path of a link. Refused when it is outside the root, or inside git's files. */
function followed(top: string, link: string, path: string): string {
  let real: string;
  try {
    real = realpathSync(link);
  } catch {
    throw new Refusal(
      `${shown(path)} goes through the symbolic link ${shown(relative(top, link))}, which leads nowhere or in a circle.`,
    );
  }
  if (!isInside(top, real))
    throw new Refusal(
      `${shown(path)} goes through the symbolic link ${shown(relative(top, link))}, which leads out of the workspace.`,
    );
  if (relative(top, real).split(sep).some(isGitName))
    throw new Refusal(`${shown(path)} leads into git's own files, which are not read or changed here.`);
  return real;
}

export function isInside(top: string, path: string): boolean {
  return path === top || path.startsWith(top.endsWith(sep) ? top : top + sep);
}

function notFound(top: string, path: string, folder: string, name: string): string {
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {}
  const near = nearest(name, names.slice(0, 5_000)) ?? sameNameBelow(top, basename(path));
  const where = near === null ? '' : near.includes('/') ? near : join(relative(top, folder), near);
  return `${shown(path)} is not there.${where ? ` Did you mean ${shown(where)}?` : ''}`;
}

/** A file of this name elsewhere, searched breadth first within a limit of entries. */
function sameNameBelow(top: string, name: string): string | null {
  const queue = [top];
  for (let seen = 0; queue.length > 0 && seen < 3_000; ) {
    const folder = queue.shift()!;
    let entries: import('node:fs').Dirent[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      continue;
    }
    for (const entry of entries) {
      seen += 1;
      if (entry.name === '.git' || entry.name === 'node_modules') continue;
      if (entry.name === name) return './' + relative(top, join(folder, entry.name));
      if (entry.isDirectory()) queue.push(join(folder, entry.name));
    }
  }
  return null;
}

export function lstatOrNull(path: string | Buffer): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'ENAMETOOLONG') throw new Refusal('The path is too long.');
    throw error;
  }
}

/** The folder of a relative path; empty for the root. */
export const folderOf = (path: string): string => (dirname(path) === '.' ? '' : dirname(path));
