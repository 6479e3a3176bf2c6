import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Author, DirectEdit } from '../../../src/contracts/workspace-ops.ts';
import type { Keep } from '../files/change.ts';
import { shown } from '../files/names.ts';
import { argument, GitFailed, type Repository, tryGit } from '../git/git.ts';
import { foldersOf } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { isFolder, type Place } from '../git/repository.ts';
import { onDisk } from '../git/snapshot.ts';
import { tidy } from '../git/transfer.ts';
import { blob, type Entry, emptyTree, treeOfPath } from '../git/trees.ts';
import { LIMITS } from '../limits.ts';
import { Refusal } from '../refusal.ts';
import { checkKey } from './checkpoint.ts';
import { openStore } from './history.ts';
import { markedPath, storeFiles } from './others.ts';
import { nextPlace, readRef, refOf, type State, storeState } from './record.ts';

/**
 * A direct edit of one file, for undo. Its two states hold this file alone, so that an edit takes as long in a large
 * repository as in a small one. Both are stored before the file is touched, because what it will be is known: a call
 * that is killed at any moment leaves an edit that undo knows, or none.
 */

const AUTHOR: Author = { name: 'Fetch', email: 'fetch@localhost' };

/** The file as it is, and the content that it gets; null when it goes. */
interface Edited {
  path: string;
  from: Entry | null;
  to: Entry | null;
}

/** For a tool without `edit`, nothing is kept. */
export function keepEdit(place: Place, edit: DirectEdit | undefined): Keep | undefined {
  if (!edit || !isFolder(place.side)) return undefined;
  checkKey(edit.key);
  return (absolute, after) => {
    try {
      return storeEdit(openStore(place), edit, Buffer.from(relative(place.root, absolute)).toString('latin1'), after);
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      throw new Refusal(`Nothing was changed, because the state before could not be kept for undo: ${error.message}`);
    }
  };
}

function storeEdit(repository: Repository, edit: DirectEdit, path: string, after: Buffer | null): string | null {
  const stats = lstatSync(onDisk(repository.root, path), { throwIfNoEntry: false });
  const apart = isApart(repository, path);
  if (stats && stats.size > (apart ? LIMITS.otherBytes : LIMITS.keptFileBytes))
    return `${shown(utf8(path))} was too large to be kept: undo cannot bring it back.`;
  let from: Entry | null;
  try {
    from = stats ? storeFiles(repository, repository.root, [{ path, stats }]).get(path)! : null;
  } catch (error) {
    if (!(error instanceof GitFailed) || after !== null) throw error;
    return `${shown(utf8(path))} could not be read: undo cannot bring it back.`;
  }
  const mode = from && from.mode !== '120000' ? from.mode : '100644';
  const to = after === null ? null : { mode, oid: blob(repository, after) };
  storeStates(repository, edit, { path, from, to }, apart);
  tidy(repository);
  return null;
}

/**
 * A state is found by its ref `before`, which is therefore written last. The record of an earlier attempt is replaced,
 * because the file may have changed since.
 */
function storeStates(
  repository: Repository,
  { key, turn }: DirectEdit,
  { path, from, to }: Edited,
  apart: boolean,
): void {
  const { n, at } = nextPlace(repository);
  const state: Omit<State, 'extra'> = {
    n,
    key,
    worktree: null,
    head: null,
    branch: null,
    at,
    dirty: 0,
    notes: [],
    kept: 'beside',
    turn,
    partial: true,
  };
  const none = emptyTree(repository);
  const folders = from ? [] : emptyFolder(repository.root, path);
  for (const [what, entry] of [
    ['after', to],
    ['before', from],
  ] as const) {
    const tree = entry ? treeOfPath(repository, apart ? markedPath(path) : path, entry) : none;
    const snapshot = {
      tree: apart ? none : tree,
      staged: null,
      unmerged: null,
      absent: new Map(),
      ignored: [],
      trees: { others: apart ? tree : none },
      notes: [],
    };
    const facts = { ignored: [], named: [], ...(what === 'before' && { folders }) };
    storeState(repository, what, { snapshot, facts }, state, AUTHOR, readRef(repository, refOf(key, what)));
  }
}

/** Whether git does not look at a path: it is ignored, or in a repository inside the workspace. */
function isApart(repository: Repository, path: string): boolean {
  if (foldersOf(path).some((folder) => existsSync(join(repository.root, utf8(folder), '.git')))) return true;
  const name = argument(path);
  // this command refuses literal path specifications; after `./` nothing in a name is special
  return (
    name !== null &&
    tryGit(repository, ['check-ignore', '-q', '--', `./${name}`], { env: { GIT_LITERAL_PATHSPECS: '0' } }).code !== 1
  );
}

/** The folder of a new file, if it is empty now: undo removes a folder with its last file. */
function emptyFolder(root: string, path: string): string[] {
  let folder = dirname(utf8(path));
  while (folder !== '.' && !existsSync(join(root, folder))) folder = dirname(folder);
  if (folder === '.' || readdirSync(join(root, folder)).length > 0) return [];
  return [`${Buffer.from(folder).toString('latin1')}/`];
}
