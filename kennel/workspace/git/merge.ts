import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { content, type Repository, tryContent } from './git.ts';
import { blob, type Change, changedTree, diffTrees, type Entry, entriesOf, isFile, same } from './trees.ts';

export interface Merged {
  tree: string;
  /** paths where the changes of both sides conflict */
  conflicts: string[];
  /** from `ours` to `tree` */
  changes: Change[];
}

export interface MergeOptions {
  /** converts entries of `base` and `theirs`, for example to the line endings of a commit; `skip` keeps ours */
  convert?: (path: string, entry: Entry) => Entry | 'skip';
}

const MERGED_BYTES = 10 * 1024 * 1024;

/** `ours` with the changes from `base` to `theirs`. It works on trees only. */
export function mergeTrees(
  repository: Repository,
  base: string,
  ours: string,
  theirs: string,
  options: MergeOptions = {},
): Merged {
  const wanted = diffTrees(repository, base, theirs);
  if (wanted.length === 0) return { tree: ours, conflicts: [], changes: [] };
  const current = entriesOf(repository, ours);
  const changes: Change[] = [];
  const conflicts: string[] = [];
  for (const { path, from, to } of wanted) {
    const b = from && options.convert ? options.convert(path, from) : from;
    const t = to && options.convert ? options.convert(path, to) : to;
    if (b === 'skip' || t === 'skip') continue;
    const o = current.get(path) ?? null;
    if (same(b, t) || same(o, t)) continue;
    const merged = same(o, b) ? t : mergeEntry(repository, b, o, t);
    if (merged === undefined) conflicts.push(path);
    else if (!same(merged, o)) changes.push({ path, from: o, to: merged });
  }
  conflicts.push(...inTheWay(current, changes));
  if (conflicts.length > 0) return { tree: ours, conflicts: [...new Set(conflicts)], changes: [] };
  return {
    tree: changedTree(
      repository,
      ours,
      changes.map((change) => [change.path, change.to]),
    ),
    conflicts,
    changes,
  };
}

/** The entry of a three-way merge; undefined: a conflict. */
function mergeEntry(
  repository: Repository,
  base: Entry | null,
  ours: Entry | null,
  theirs: Entry | null,
): Entry | null | undefined {
  if (!base || !ours || !theirs || !isFile(base) || !isFile(ours) || !isFile(theirs)) return undefined;
  const mode = ours.mode === base.mode ? theirs.mode : ours.mode;
  if (base.oid === ours.oid) return { mode, oid: theirs.oid };
  if (base.oid === theirs.oid || ours.oid === theirs.oid) return { mode, oid: ours.oid };
  const sizes = content(repository, ['cat-file', '--batch-check=%(objectsize)'], {
    input: [base, ours, theirs].map((entry) => `${entry.oid}\n`).join(''),
  });
  if (sizes.split('\n').some((size) => Number(size) > MERGED_BYTES)) return undefined;
  const folder = mkdtempSync(join(repository.scratch, 'tmp', 'merge-'));
  const file = (name: string, entry: Entry): string => {
    const path = join(folder, name);
    writeFileSync(path, Buffer.from(content(repository, ['cat-file', 'blob', entry.oid]), 'latin1'));
    return path;
  };
  const merged = tryContent(repository, [
    'merge-file',
    '-p',
    '-q',
    file('ours', ours),
    file('base', base),
    file('theirs', theirs),
  ]);
  rmSync(folder, { recursive: true, force: true });
  return merged.code === 0 ? { mode, oid: blob(repository, Buffer.from(merged.stdout, 'latin1')) } : undefined;
}

/** Paths that would be a file and a folder at once. */
function inTheWay(current: ReadonlyMap<string, Entry>, changes: Change[]): string[] {
  const after = new Map(current);
  for (const { path, to } of changes) {
    if (to) after.set(path, to);
    else after.delete(path);
  }
  const added = changes.filter((change) => change.to);
  if (added.length === 0) return [];
  const folders = new Set<string>();
  for (const path of after.keys()) for (const folder of foldersOf(path)) folders.add(folder);
  return added
    .filter(({ path }) => folders.has(path) || foldersOf(path).some((folder) => after.has(folder)))
    .map(({ path }) => path);
}

export function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
    folders.push(path.slice(0, slash));
  return folders;
}
