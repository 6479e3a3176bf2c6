import { posix } from 'node:path';
import type { Source } from './sources.ts';

/**
 * What a file is worth in a map: files that many import, that programs begin with, and that were changed lately, come
 * first.
 */
export function ranked(sources: readonly Source[], recent: ReadonlyMap<string, number>): Source[] {
  const importers = countImporters(sources);
  const worth = new Map(
    sources.map(({ path }) => [path, worthOf(path, importers.get(path) ?? 0, recent.get(path) ?? 0)]),
  );
  return sources.toSorted((a, b) => worth.get(b.path)! - worth.get(a.path)! || (a.path < b.path ? -1 : 1));
}

const ENTRY =
  /(?:^|\/)(?:main|index|app|server|cli|lib|mod|__main__|__init__|manage|Main|Application|Program)\.[a-z]+$/;
const TEST =
  /(?:^|\/)(?:tests?|specs?|__tests__|testdata|fixtures?|examples?|bench(?:marks?)?|docs?)\/|[._-](?:test|spec)\.[a-z]+$|(?:^|\/)test_[^/]*$|Tests?\.java$/;

function worthOf(path: string, importers: number, changes: number): number {
  const depth = path.split('/').length - 1;
  return (
    3 * Math.log2(1 + importers) +
    2 * Math.log2(1 + changes) +
    (ENTRY.test(path) ? 3 / (1 + depth / 2) : 0) -
    (TEST.test(path) ? 8 : 0) -
    depth / 4
  );
}

/**
 * How many files import each. A name is looked up as a path beside the file, and else by the last parts of paths, as
 * far as they name a file.
 */
function countImporters(sources: readonly Source[]): Map<string, number> {
  const files = new Index(sources.map(({ path }) => path));
  const counts = new Map<string, number>();
  for (const { path, imports } of sources) {
    const found = new Set(imports.flatMap((name) => files.find(path, name)));
    found.delete(path);
    for (const each of found) counts.set(each, (counts.get(each) ?? 0) + 1);
  }
  return counts;
}

/** Files that stand for their folder. */
const OF_FOLDER = /\/(?:index|__init__|mod|lib|main)$/;
/** How many last parts of a path are a key. */
const PARTS = 3;
/** A key that more files share says nothing. */
const MOST_OF_KEY = 8;

class Index {
  /** whole paths without extension */
  private readonly whole = new Map<string, string>();
  /** last parts of paths, and of folders */
  private readonly ends = new Map<string, string[]>();

  constructor(paths: readonly string[]) {
    for (const path of paths) {
      const stem = withoutExtension(path);
      this.put(stem, path);
      if (OF_FOLDER.test(stem)) this.put(stem.replace(OF_FOLDER, ''), path);
      // Go imports folders
      else if (path.endsWith('.go')) this.putEnds(posix.dirname(path), path);
    }
  }

  find(from: string, name: string): string[] {
    const parts = name.replace(/^\.+(?=\w)/, '').split(/(?:::|[./\\])+/);
    const beside = this.beside(from, name);
    if (beside !== undefined) return [beside];
    if (name.startsWith('./') || name.startsWith('../')) return [];
    const clean = withoutEmpty(extensionless(name, parts));
    // the last parts may name something inside of a file: a class, a function
    for (let length = clean.length; length > 0 && length > clean.length - 3; length -= 1) {
      for (let take = Math.min(PARTS, length); take > (length > 1 ? 1 : 0); take -= 1) {
        const found = this.ends.get(clean.slice(length - take, length).join('/'));
        if (found) return found.length > MOST_OF_KEY ? [] : found;
      }
    }
    return [];
  }

  private beside(from: string, name: string): string | undefined {
    const folder = posix.dirname(from);
    const dots = /^(\.{1,20})((?:\w[\w.]*)?)$/.exec(name);
    // from ..a.b import c, in Python
    const path =
      dots && from.endsWith('.py')
        ? posix.join(folder, '../'.repeat(dots[1]!.length - 1), dots[2]!.replaceAll('.', '/'))
        : posix.join(folder, name.replaceAll('::', '/'));
    return this.whole.get(path) ?? this.whole.get(withoutExtension(path));
  }

  private put(stem: string, path: string): void {
    if (!this.whole.has(stem)) this.whole.set(stem, path);
    this.putEnds(stem, path);
  }

  private putEnds(stem: string, path: string): void {
    const parts = stem.split('/');
    for (let take = 1; take <= Math.min(PARTS, parts.length); take += 1) {
      const key = parts.slice(-take).join('/');
      const known = this.ends.get(key);
      if (!known) this.ends.set(key, [path]);
      else if (known.length <= MOST_OF_KEY && known.at(-1) !== path) known.push(path);
    }
  }
}

const withoutExtension = (path: string): string => path.replace(/\.[a-z]{1,4}$/, '');
const withoutEmpty = (parts: readonly string[]): string[] => parts.filter((part) => part !== '');
/** `util/log.h` is a path, `util.log` is not. */
const extensionless = (name: string, parts: string[]): string[] =>
  name.includes('/') && /\.[a-z]{1,4}$/.test(name) ? parts.slice(0, -1) : parts;
