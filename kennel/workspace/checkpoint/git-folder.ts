import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyChanges } from '../files/apply.ts';
import { content, git, type Repository, tryGit } from '../git/git.ts';
import { isFolder, openRepository, type Place, textOrNull } from '../git/repository.ts';
import { distrustIndex } from '../git/snapshot.ts';
import { indexFile, indexText, marksOf } from '../git/staging.ts';
import { giveObjects, missingFrom, type Ref, refsOf } from '../git/transfer.ts';
import { type Change, diffTrees, entriesOf } from '../git/trees.ts';
import { LIMITS } from '../limits.ts';
import { collect, othersTree, plainPath, storeFiles } from './others.ts';
import { extraOf, type Facts, factsOf, type Stored } from './record.ts';

/**
 * An agent can find and destroy the git folder of a workspace. This file says what of it is saved, what happened to it,
 * and how it is restored.
 */

/** Saved in another way, or made by this program. */
const OWN = new Set(['objects', 'refs', 'logs', 'fetch-worktrees', 'fetch', 'index', 'packed-refs', 'HEAD', 'lfs']);
const isApart = (path: string): boolean =>
  OWN.has(path.split('/')[0]!) || path.startsWith('sharedindex.') || path.endsWith('.lock');
/** What git knows of a worktree of the person, which `git worktree prune` removes where its folder is not mounted. */
const WORKTREE = /^(worktrees\/[^/]+)\/./;
/** Leftovers of a merge, which nobody needs to hear of. */
export const LEFTOVERS = new Set(['SQUASH_MSG', 'AUTO_MERGE']);
/**
 * In these, a task's changes are undone one by one; other files change whenever git works. `modules` has the git
 * folders of submodules.
 */
const STABLE = /^(config|config\.worktree|description|shallow|SQUASH_MSG|AUTO_MERGE|hooks\/.*|info\/.*|modules\/.*)$/;

const isLog = (path: string): boolean => path.startsWith('logs/');

const SETTINGS = /^(config|config\.worktree|description|shallow|hooks|info)(\/|$)/;

export interface GitFolder {
  facts: Pick<Facts, 'refs' | 'head' | 'objects'>;
  trees: { git: string; logs: string };
  index?: Buffer;
  /** why it could not be saved whole */
  left: string | null;
}

export function takeGitFolder(repository: Repository, refs: readonly Ref[]): GitFolder {
  const { commonDir } = repository;
  const bounds = { files: LIMITS.nestedFiles, bytes: LIMITS.nestedBytes, file: LIMITS.nestedBytes };
  const ofTasks = new Set(
    isFolder(join(commonDir, 'fetch-worktrees')) ? readdirSync(join(commonDir, 'fetch-worktrees')) : [],
  );
  const isLeft = (path: string): boolean =>
    isApart(path) || (path.startsWith('worktrees/') && ofTasks.has(path.split('/')[1]!));
  const files = collect(commonDir, '', bounds, isLeft);
  // small, without what submodules and other programs put there
  const taken = files ?? collect(commonDir, '', bounds, (path) => isLeft(path) || !SETTINGS.test(path)) ?? [];
  const logs = isFolder(join(commonDir, 'logs')) ? (collect(commonDir, 'logs/', bounds) ?? []) : [];
  const stored = [...storeFiles(repository, commonDir, [...taken, ...logs])];
  // the workspace's index, also for a task in a worktree; that index is saved with the worktree
  const indexFile = join(commonDir, 'index');
  const index = lstatSync(indexFile, { throwIfNoEntry: false });
  return {
    facts: { refs: [...refs], head: textOrNull(join(commonDir, 'HEAD')), objects: objectFiles(commonDir) },
    trees: {
      git: othersTree(
        repository,
        stored.filter(([path]) => !isLog(path)),
      ),
      logs: othersTree(
        repository,
        stored.filter(([path]) => isLog(path)),
      ),
    },
    ...(index?.isFile() && index.size < LIMITS.otherBytes && { index: readFileSync(indexFile) }),
    left: files
      ? null
      : 'Of the git folder only history and settings: submodules, or other programs, keep too much in it',
  };
}

/** All files that hold objects, by size and time: reading their contents would take long. */
function objectFiles(commonDir: string): Record<string, string> {
  const found: Record<string, string> = {};
  const folder = join(commonDir, 'objects');
  for (const name of readdirSync(folder)) {
    if (!/^([0-9a-f]{2}|pack)$/.test(name) || !isFolder(join(folder, name))) continue;
    for (const file of readdirSync(join(folder, name))) {
      if (!/^([0-9a-f]{38,62}|pack-.*\.pack)$/.test(file)) continue;
      const stats = lstatSync(join(folder, name, file), { throwIfNoEntry: false });
      if (stats) found[`${name}/${file}`] = `${stats.size} ${stats.mtimeMs}`;
    }
  }
  return found;
}

/**
 * What a task did to the objects of the repository; null when all are intact. Their contents are read only when earlier
 * files are gone or rewritten.
 */
export function objectDamage(repository: Repository, before: Facts): string | null {
  const now = objectFiles(repository.commonDir);
  const touched = Object.entries(before.objects ?? {}).some(([file, stats]) => now[file] !== stats);
  return touched ? brokenObjects(repository) : null;
}

/** Words of `git fsck` for a broken object, as opposed to one that an old program wrote oddly. */
const WRONG = ['corrupt', 'missing', 'mismatch', 'inflate', 'unable', 'invalid', 'not a'];

function brokenObjects(repository: Repository): string | null {
  const looked = tryGit(repository, ['fsck', '--full', '--no-dangling', '--no-progress', '--no-reflogs'], {
    timeoutMs: LIMITS.fsckMs,
  });
  if (looked.code === 0 || looked.timedOut) return null;
  const lines = `${looked.stderr}\n${looked.stdout}`.split('\n');
  const tells = (line: string) => ['missing', 'broken link', 'fatal:'].some((word) => line.startsWith(word));
  const blames = (line: string) => line.startsWith('error: ') && WRONG.some((word) => line.includes(word));
  return lines.find((line) => tells(line) || blames(line))?.slice(0, 200) ?? null;
}

/** Changes between two states of the git folder that undo takes back, except refs and objects. */
export function folderChanges(repository: Repository, from: Stored, to: Stored): Change[] {
  const trees = [from, to].map((state) => extraOf(repository, state.extra, 'git'));
  if (!trees[0] || !trees[1]) return [];
  const changes = diffTrees(repository, trees[0], trees[1]).map((change) => ({
    ...change,
    path: plainPath(change.path),
  }));
  // a worktree is another place to work in: only that it is there belongs to this one
  const moved = new Set(
    changes.flatMap(({ path, from, to }) =>
      /^worktrees\/[^/]+\/HEAD$/.test(path) && !(from && to) ? [path.slice(0, -5)] : [],
    ),
  );
  return (
    changes
      // new objects of a submodule do no harm
      .filter(
        ({ path, to }) =>
          moved.has(WORKTREE.exec(path)?.[1] ?? '') ||
          (STABLE.test(path) && (to || !/^modules\/.*\/objects\//.test(path))),
      )
  );
}

/** What git keeps of a merge, rebase or the like while it is in progress; the first ones exist in no other state. */
const BEGUN = /^(MERGE_HEAD|CHERRY_PICK_HEAD|REVERT_HEAD|BISECT_LOG|rebase-merge\/.*|rebase-apply\/.*)$/;
const OF_IT = /^(MERGE_(MSG|MODE|RR)|ORIG_HEAD|REBASE_HEAD|BISECT_\w+|sequencer\/.*)$/;

/** Changes by which an operation that was in progress in `before` is so again; none when it is, or there was none. */
export function progressChanges(repository: Repository, after: Stored, before: Stored): Change[] {
  const trees = [after, before].map((state) => extraOf(repository, state.extra, 'git'));
  if (!trees[0] || !trees[1]) return [];
  const changes = diffTrees(repository, trees[0], trees[1])
    .map((change) => ({ ...change, path: plainPath(change.path) }))
    .filter(({ path }) => BEGUN.test(path) || OF_IT.test(path));
  // a stash or a picked commit may have conflicts with nothing in progress
  const [has, had] = [after, before].map((state) => extraOf(repository, state.extra, 'unmerged'));
  const again = had !== null && had !== has;
  return again || changes.some(({ path, from, to }) => BEGUN.test(path) && from === null && to !== null) ? changes : [];
}

/** Whether a merge, rebase or the like was in progress in a state. */
export function wasInProgress(repository: Repository, state: Stored): boolean {
  const tree = extraOf(repository, state.extra, 'git');
  return tree !== null && [...entriesOf(repository, tree).keys()].some((path) => BEGUN.test(plainPath(path)));
}

/** The index file of a state, as it is stored, and its marks; null when there was none, or it cannot be read. */
export function storedIndex(repository: Repository, state: Stored): { oid: string; marks: string } | null {
  const oid = extraOf(repository, state.extra, 'index');
  const text = oid && indexText(repository, indexFile(repository, oid));
  return text ? { oid, marks: marksOf(text) } : null;
}

export const STASHES = 'logs/refs/stash';

/** The list of stashes in a state, which is a log of git: a blob. */
export function stashesOf(repository: Repository, state: Stored): string | null {
  const logs = extraOf(repository, state.extra, 'logs');
  return (logs && entriesOf(repository, logs).get(STASHES)?.oid) ?? null;
}

export function applyToFolder(repository: Repository, changes: readonly Change[]): string[] {
  if (changes.length === 0 || repository.kept === 'beside') return [];
  return applyChanges({ ...repository, root: repository.commonDir }, changes, false).refused;
}

/**
 * Restores the git folder: objects from the store, its files, refs, HEAD and index. Intact files stay. `all`: restore
 * HEAD, refs and index in any case, because nobody knows what they were when the task ended. Can be repeated after it
 * was killed. Returns why the folder is still unusable; null when it is usable.
 */
export function remakeFolder(place: Place, history: Repository, before: Stored, all: boolean): string | null {
  const commonDir = join(place.workspace, '.git');
  const facts = factsOf(history, before);
  for (const name of ['', 'objects', 'objects/pack', 'objects/info', 'refs', 'refs/heads', 'refs/tags']) {
    const path = join(commonDir, name);
    if (isFolder(path)) continue;
    rmSync(path, { force: true });
    mkdirSync(path);
  }
  const repository: Repository = {
    ...history,
    root: place.workspace,
    gitDir: commonDir,
    commonDir,
    kept: 'workspace',
    worktree: null,
    damage: undefined,
  };
  writeFiles(repository, before, 'git', (path) => path === 'config');
  writeText(
    join(commonDir, 'HEAD'),
    facts.head ?? 'ref: refs/heads/main\n',
    (text) => !all && /^(ref: refs\/\S+|[0-9a-f]{40,64})\n?$/.test(text),
  );
  delete repository.overrides;
  if (tryGit(repository, ['for-each-ref', '--count=1', '--format=%(refname)']).code !== 0)
    rmSync(join(commonDir, 'packed-refs'), { force: true, recursive: true });
  // reflogs are restored from the store too
  repository.overrides = Object.assign({}, repository.overrides, { 'core.logAllRefUpdates': 'false' });
  dropBroken(repository);
  const staged = extraOf(repository, before.extra, 'staged');
  const indexed = staged
    ? [...entriesOf(repository, staged).values()].filter((entry) => entry.mode !== '160000').map((entry) => entry.oid)
    : [];
  const refs = facts.refs ?? [];
  giveObjects(repository, [...refs.map((ref) => ref.oid), before.head, ...indexed], { whole: true });
  const there = refsOf(repository);
  const lost = new Set(
    missingFrom(
      git,
      repository,
      there.map((ref) => ref.oid),
    ),
  );
  const right = new Map(refs.map((ref) => [ref.name, ref.oid]));
  const known = new Set(
    there.flatMap(({ name, oid }) => (lost.has(oid) || (all && right.get(name) !== oid) ? [] : [name])),
  );
  for (const { name, oid, symref } of refs) {
    if (known.has(name)) continue;
    const order = `update ${name}\0${oid}\0\0`;
    const set = () =>
      tryGit(repository, symref ? ['symbolic-ref', name, symref] : ['update-ref', '--stdin', '-z', '--no-deref'], {
        input: order,
      }).code === 0;
    // a file that git does not accept as a ref blocks the ref of that name
    if (!set() && removeRefFile(commonDir, name)) set();
  }
  writeFiles(repository, before, 'logs', () => all);
  const index = extraOf(repository, before.extra, 'index');
  if (index && (all || tryGit(repository, ['ls-files', '-s']).code !== 0))
    rmSync(join(commonDir, 'index'), { force: true, recursive: true });
  if (index && !lstatSync(join(commonDir, 'index'), { throwIfNoEntry: false })) {
    writeFileSync(join(commonDir, 'index'), blobBytes(repository, index));
    distrustIndex(join(commonDir, 'index'));
  }
  const opened = openRepository({ ...place, root: place.workspace, worktree: null });
  if (!opened) return 'it could not be restored';
  const looked = tryGit(opened, ['ls-files', '-s']);
  return looked.code === 0 ? brokenObjects(opened) : looked.stderr.trim().split('\n')[0]!;
}

const blobBytes = (repository: Repository, oid: string): Buffer =>
  Buffer.from(content(repository, ['cat-file', 'blob', oid]), 'latin1');

function writeFiles(
  repository: Repository,
  state: Stored,
  name: 'git' | 'logs',
  always: (path: string) => boolean,
): void {
  const tree = extraOf(repository, state.extra, name);
  if (!tree) return;
  const due = [...entriesOf(repository, tree)]
    .map(([path, to]): Change => ({ path: plainPath(path), from: null, to }))
    .filter(({ path }) => {
      const there = lstatSync(join(repository.commonDir, Buffer.from(path, 'latin1').toString('utf8')), {
        throwIfNoEntry: false,
      });
      if (there && always(path)) rmSync(join(repository.commonDir, path), { force: true, recursive: true });
      return !there || always(path);
    });
  applyChanges({ ...repository, root: repository.commonDir }, due, false);
}

function writeText(path: string, text: string, valid: (text: string) => boolean): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() && valid(textOrNull(path) ?? '')) return;
  rmSync(path, { force: true, recursive: true });
  writeFileSync(path, text);
}

/** Removes loose objects and packs that git cannot read, because they block intact ones of the same name. */
function dropBroken(repository: Repository): void {
  const objects = join(repository.commonDir, 'objects');
  for (const name of readdirSync(join(objects, 'pack'))) {
    if (!/^pack-[0-9a-f]+\.pack$/.test(name)) continue;
    const idx = join(objects, 'pack', name.replace(/pack$/, 'idx'));
    if (tryGit(repository, ['verify-pack', idx]).code === 0) continue;
    for (const end of ['pack', 'idx', 'rev', 'bitmap'])
      rmSync(join(objects, 'pack', name.replace(/pack$/, end)), { force: true });
  }
  for (const name of ['info/commit-graph', 'info/commit-graphs', 'pack/multi-pack-index'])
    rmSync(join(objects, name), { force: true, recursive: true });
  const told = tryGit(repository, ['fsck', '--full', '--no-dangling', '--no-progress', '--no-reflogs'], {
    timeoutMs: LIMITS.fsckMs,
  });
  for (const [, oid] of `${told.stderr}\n${told.stdout}`.matchAll(/\b([0-9a-f]{40}|[0-9a-f]{64})\b/g)) {
    const file = join(objects, oid!.slice(0, 2), oid!.slice(2));
    if (isFolder(join(objects, oid!.slice(0, 2))) && lstatSync(file, { throwIfNoEntry: false })?.isFile())
      dropUnreadable(repository, oid!, file);
  }
}

function dropUnreadable(repository: Repository, oid: string, file: string): void {
  const type = tryGit(repository, ['cat-file', '-t', oid]).stdout.trim();
  const again = type && tryGit(repository, ['cat-file', type, oid]);
  const hashed =
    again &&
    again.code === 0 &&
    content(repository, ['hash-object', '--no-filters', '--literally', '-t', type, '--stdin'], {
      input: again.stdout,
    }).trim();
  if (hashed !== oid) rmSync(file, { force: true });
}

function removeRefFile(commonDir: string, name: string): boolean {
  let at = commonDir;
  const parts = name.split('/');
  for (const part of parts.slice(0, -1)) {
    at = join(at, part);
    if (!isFolder(at)) return false;
  }
  rmSync(join(at, parts.at(-1)!), { force: true, recursive: true });
  return true;
}
