import { type Author, type Checkpointed, KEY, type WorkspaceAnswer } from '../../src/contracts/workspace-ops.ts';
import { content, type Repository } from './git.ts';
import { readState, refOf, type State, type Stored, states, storeState, writeRef } from './record.ts';
import { Refusal } from './refusal.ts';
import { named } from './report.ts';
import { headOf, openBeside, openRepository, type Place } from './repository.ts';
import { takeSnapshot } from './snapshot.ts';
import { diffTrees, treeOf } from './trees.ts';

export function checkKey(key: string): void {
  if (!KEY.test(key)) throw new Refusal('The key must be 1 to 100 letters, digits, "-" or "_".');
}

/** Remembers the state before a task. */
export function checkpoint(place: Place, key: string, author: Author): WorkspaceAnswer {
  checkKey(key);
  const repository = openRepository(place) ?? openBeside(place, true)!;
  const known = readState(repository, key, 'before');
  if (known) return answer(repository, known);
  const head = headOf(repository);
  const snapshot = takeSnapshot(repository);
  const at = now();
  const state: Omit<State, 'extra'> = {
    n: (states(repository, 'before').at(-1)?.n ?? 0) + 1,
    key,
    worktree: repository.worktree,
    head: head.commit,
    branch: head.branch,
    at,
    dirty: repository.kept === 'beside' ? 0 : diffTrees(repository, treeOf(repository, head.commit), snapshot.tree).length,
    notes: snapshot.notes.slice(0, 50),
  };
  const commit = storeState(repository, snapshot, state, `Before task ${key}`, { ...author, seconds: at });
  writeRef(repository, refOf(key, 'before'), commit, null);
  return answer(repository, readState(repository, key, 'before')!);
}

export const now = (): number => Math.floor(Date.now() / 1000);

function answer(repository: Repository, state: Stored): WorkspaceAnswer {
  const data: Checkpointed = { head: state.head, branch: state.branch, kept: repository.kept, dirty: state.dirty, notes: state.notes };
  const where = repository.kept === 'beside' ? 'beside the workspace, which is no git repository' : `as ${refOf(state.key, 'before')}`;
  const notes = state.notes.length > 0 ? ` Not kept: ${named(state.notes, 5)}.` : '';
  return { ok: true, output: `Kept the state of the files ${where}.${notes}`, data: { ...data } };
}

/** The repository in which a task's checkpoint is. Refused when there is none. */
export function repositoryOf(place: Place, key: string): { repository: Repository; before: Stored } {
  checkKey(key);
  // a task may have made a repository where there was none, so the one beside is asked first
  for (const repository of [openBeside(place, false), openRepository(place)]) {
    const before = repository && readState(repository, key, 'before');
    if (before) return { repository, before };
  }
  throw new Refusal(`There is no checkpoint of ${key} in this workspace${openRepository(place) ? '' : '; its git folder is gone'}.`);
}

/** Paths of the files of some trees. */
export function pathsOf(repository: Repository, trees: string[]): Set<string> {
  const paths = new Set<string>();
  for (const tree of trees) {
    for (const path of content(repository, ['ls-tree', '-r', '-z', '--full-tree', '--name-only', tree]).split('\0')) if (path !== '') paths.add(path);
  }
  return paths;
}
