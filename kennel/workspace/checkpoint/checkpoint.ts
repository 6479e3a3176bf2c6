import { dirname } from 'node:path';
import { type Author, type Checkpointed, KEY, type WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { shown } from '../files/names.ts';
import { type Repository, tryGit } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { type Head, headOf, openRepository, type Place } from '../git/repository.ts';
import { readIndex, type Snapshot, takeSnapshot } from '../git/snapshot.ts';
import { copyHistory, type Ref, refsOf } from '../git/transfer.ts';
import { changedTree, diffTrees, emptyTree, entriesOf, treeOf } from '../git/trees.ts';
import { Refusal } from '../refusal.ts';
import { takeGitFolder } from './git-folder.ts';
import { type History, openHistory } from './history.ts';
import { type Others, othersTree, takeOthers } from './others.ts';
import { type Facts, type Named, nextPlace, readState, type State, type Stored, storeState } from './record.ts';

export function checkKey(key: string): void {
  if (!KEY.test(key)) throw new Refusal('The key must be 1 to 100 letters, digits, "-" or "_".');
}

/** Saves the state before a task, or before a direct edit of a turn. */
export function checkpoint(place: Place, key: string, author: Author, turn?: string): WorkspaceAnswer {
  checkKey(key);
  const repository = openHistory(place, true)!;
  const known = readState(repository, key, 'before');
  if (known) return answer(known);
  // the refs that are recorded are those whose history is copied
  const { refs, head } = repository.opened;
  const unkept = takeHistory(repository, refs, head);
  const snapshot = takeSnapshot(repository);
  const others = takeOthers(repository, snapshot.ignored);
  const { facts, left } = withRest(repository, snapshot, others, refs);
  const { n, at } = nextPlace(repository);
  const notes = [
    ...(unkept ? [`The history of the repository could not be copied (${unkept})`] : []),
    ...(left ? [left] : []),
    ...snapshot.notes,
  ];
  const state: Omit<State, 'extra'> = {
    n,
    key,
    worktree: repository.worktree,
    head: head.commit,
    branch: head.branch,
    at,
    dirty:
      repository.kept === 'beside' ? 0 : diffTrees(repository, treeOf(repository, head.commit), snapshot.tree).length,
    notes: [...notes, ...namedNotes(others.named)].slice(0, 50),
    kept: repository.kept,
    ...(repository.damage && { damage: repository.damage }),
    ...(turn !== undefined && { turn }),
  };
  return answer(storeState(repository, 'before', { snapshot, facts }, state, author));
}

/** Copies the history of refs and HEAD into the store. Returns why it could not. */
export function takeHistory(
  repository: Repository,
  refs: readonly Ref[] = refsOf(repository),
  head: Head = headOf(repository),
): string | null {
  if (repository.kept === 'beside') return null;
  const indexes = repository.worktree === null ? [repository] : [repository, mainOf(repository)];
  const entries = indexes.flatMap((each) => {
    const { entries, unmerged } = readIndex(each);
    return [...entries.values(), ...[...unmerged.values()].flatMap((stages) => [...stages.values()])];
  });
  const indexed = entries.filter((entry) => entry.mode !== '160000').map((entry) => entry.oid);
  const stashes = refs.some(({ name }) => name === 'refs/stash') ? stashed(repository) : [];
  return copyHistory(repository, refs, head.commit, [...indexed, ...stashes]);
}

/** For the repository of a worktree: the workspace itself. */
const mainOf = (repository: Repository): Repository => ({
  ...repository,
  root: dirname(repository.commonDir),
  gitDir: repository.commonDir,
  worktree: null,
});

/** The stashes. All except the newest are only in a reflog. */
function stashed(repository: Repository): string[] {
  const listed = tryGit(repository, ['rev-list', '--walk-reflogs', 'refs/stash']);
  return listed.code === 0 ? listed.stdout.split('\n').filter(Boolean) : [];
}

/** The rest of a snapshot: other files, and the git folder. */
export function withRest(
  repository: Repository,
  snapshot: Snapshot,
  others: Others,
  refs: readonly Ref[],
): { facts: Facts; left: string | null } {
  const { named, nested, folders, pipes } = others;
  const facts: Facts = { ignored: snapshot.ignored, named, nested, folders, pipes };
  snapshot.trees = {
    others: othersTree(repository, others.files),
    ...(snapshot.absent.size > 0 && { absent: changedTree(repository, emptyTree(repository), snapshot.absent) }),
  };
  if (repository.kept === 'beside') return { facts, left: null };
  const folder = takeGitFolder(repository, refs);
  snapshot.trees = { ...snapshot.trees, ...folder.trees };
  if (folder.index) snapshot.index = folder.index;
  // a worktree's index is saved with it; the workspace's index is needed to restore its git folder
  if (repository.worktree !== null) snapshot.staged = readIndex(mainOf(repository)).staged();
  return { facts: { ...facts, ...folder.facts }, left: folder.left };
}

function namedNotes(named: Named[]): string[] {
  const why = { large: 'is large', unreadable: 'cannot be read', special: 'is neither a file nor a link' };
  return named.map((entry) => `${shown(utf8(entry.path))} ${why[entry.why]}, so only its name is saved`);
}

function answer(state: Stored): WorkspaceAnswer {
  const { head, branch, dirty, notes } = state;
  const data: Checkpointed = { head, branch, kept: state.kept ?? 'workspace', dirty, notes };
  const more = notes.length > 5 ? ` and ${notes.length - 5} more` : '';
  const told = notes.length > 0 ? ` Not kept whole: ${notes.slice(0, 5).join('; ')}${more}.` : '';
  return { ok: true, output: `Kept the state of the files outside of the workspace.${told}`, data: { ...data } };
}

/** The repository that has a task's checkpoint. Refused when there is none. */
export function repositoryOf(place: Place, key: string): { repository: History; before: Stored } {
  checkKey(key);
  const repository = openHistory(place, false);
  const before = repository && readState(repository, key, 'before');
  if (!before)
    throw new Refusal(
      `There is no checkpoint of ${key} in this workspace${openRepository(place) ? '' : '; its git folder is gone'}.`,
    );
  return { repository, before };
}

/** Paths of all files in some trees. */
export function pathsOf(repository: Repository, trees: string[]): Set<string> {
  const paths = new Set<string>();
  for (const tree of trees) {
    for (const path of entriesOf(repository, tree).keys()) paths.add(path);
  }
  return paths;
}
