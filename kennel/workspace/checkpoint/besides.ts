import { content, type Repository, tryContent } from '../git/git.ts';
import { inProgress } from '../git/repository.ts';
import { type Change, changedTree, diffTrees, type Entry, emptyTree, entriesOf } from '../git/trees.ts';
import { LIMITS } from '../limits.ts';
import { folderChanges, LEFTOVERS, stashesOf, wasInProgress } from './git-folder.ts';
import { among, isThere, plainPath } from './others.ts';
import { extraOf, type Facts, factsOf, hadRepository, type Stored } from './record.ts';
import { changedFiles, type Files, named } from './report.ts';

/** What a task did besides the files that git looks at, in words and as changes. */

const UNDO = '"undo" brings it back';

/** Files of a state that git does not look at, by path. */
export function othersOf(repository: Repository, state: Stored): Map<string, Entry> {
  const tree = extraOf(repository, state.extra, 'others');
  return new Map(tree ? [...entriesOf(repository, tree)].map(([path, entry]) => [plainPath(path), entry]) : []);
}

/** Changes from the state after a task to the state before it, in files that git does not look at. */
export function otherChanges(repository: Repository, from: Stored, to: Stored): Change[] {
  const trees = [from, to].map((state) => extraOf(repository, state.extra, 'others'));
  if (!trees[0] || !trees[1]) return [];
  return diffTrees(repository, trees[0], trees[1]).map((change) => ({ ...change, path: plainPath(change.path) }));
}

const plainTree = (repository: Repository, entries: Array<[string, Entry]>): string =>
  changedTree(repository, emptyTree(repository), entries);

const isOfGit = (path: string): boolean => /(^|\/)\.git(\/|$)/.test(path);

/** Changes in repositories inside the workspace. They are reported with the others, but not committed. */
export function innerChanges(repository: Repository, before: Stored, after: Stored): { files: Files; notes: string[] } {
  const [then, now] = [factsOf(repository, before), factsOf(repository, after)];
  const isInner = among([...(then.nested ?? []), ...(now.nested ?? [])]);
  const changes = otherChanges(repository, before, after).filter(({ path }) => isInner(path));
  const side = (which: 'from' | 'to') =>
    plainTree(
      repository,
      changes.flatMap(
        (change): Array<[string, Entry]> =>
          change[which] && !isOfGit(change.path) ? [[change.path, change[which]]] : [],
      ),
    );
  const files = changedFiles(repository, side('from'), side('to'));
  const folders = new Set(
    [...(then.nested ?? []), ...(now.nested ?? [])].filter((folder) =>
      changes.some(({ path }) => path.startsWith(folder)),
    ),
  );
  const notes: string[] = [];
  if (folders.size > 0)
    notes.push(
      `Repositories inside of the workspace were changed, and are not committed: ${named([...folders])}. "undo" takes that back.`,
    );
  const prints = new Map((now.named ?? []).flatMap((entry) => (entry.print ? [[entry.path, entry.print]] : [])));
  const large = (then.named ?? [])
    .filter((entry) => entry.print && prints.get(entry.path) !== entry.print)
    .map((entry) => entry.path);
  if (large.length > 0) {
    notes.push(
      `Changed or gone, and too large to be kept: ${named(large)} (repositories inside of the workspace). These changes cannot be shown or undone.`,
    );
  }
  const fresh = [...prints.keys()].filter((path) => !then.nested?.includes(path));
  if (then.nested && fresh.length > 0) notes.push(`New, and too large to be undone: ${named(fresh)}.`);
  return { files, notes };
}

/** What else the person should know. */
export function besides(repository: Repository, before: Stored, after: Stored): string[] {
  const then = factsOf(repository, before);
  return [...folderNotes(repository, before, after), ...otherNotes(repository, before, after, then)];
}

function folderNotes(repository: Repository, before: Stored, after: Stored): string[] {
  if (!hadRepository(before)) return [];
  if (!hadRepository(after)) {
    const what =
      !after.damage || after.damage === 'it is gone'
        ? 'removed the git folder of the workspace'
        : `left the git folder of the workspace unusable (${after.damage})`;
    return [`The task ${what}: nothing could be committed. "undo" restores it, with its history.`];
  }
  const notes: string[] = [];
  if (after.damage) notes.push(`The objects of the repository are damaged (${after.damage}). "undo" repairs them.`);
  const now = new Map((factsOf(repository, after).refs ?? []).map((ref) => [ref.name, ref.oid]));
  const lost = (factsOf(repository, before).refs ?? []).flatMap(({ name }) =>
    now.has(name) || (name === 'refs/stash' && stashesOf(repository, before)) ? [] : [name],
  );
  if (lost.length > 0) notes.push(`The task deleted ${named(lost)}; ${UNDO}.`);
  notes.push(...movedNotes(repository, before, after), ...stashNotes(repository, before, after));
  const staged = stagedAlone(repository, before, after);
  if (staged.length > 0) notes.push(`The task changed what is staged of ${named(staged)}; "undo" takes that back.`);
  const begun = before.worktree === null && !wasInProgress(repository, before) && inProgress(repository);
  if (begun) notes.push(`The task left ${begun} unfinished: finish or abort it before "undo".`);
  const elsewhere = committedElsewhere(repository, before, after);
  if (elsewhere.length > 0)
    notes.push(`The task also committed to ${named(elsewhere)}, which is not checked out; look there for its work.`);
  if (before.head && after.head && before.branch === after.branch && !reaches(repository, after.head, before.head)) {
    notes.push(
      `The task rewrote the history of ${before.branch ?? 'HEAD'}: commit ${before.head.slice(0, 10)} is no longer in it; ${UNDO}.`,
    );
  }
  const changed = folderChanges(repository, before, after).map(({ path }) =>
    path.replace(/^(worktrees\/[^/]+)\/.*/, '$1'),
  );
  const own = [...new Set(changed)].filter((path) => !path.startsWith('modules/') && !LEFTOVERS.has(path));
  if (own.length > 0) notes.push(`The task changed files of git itself: ${named(own)}; "undo" takes that back.`);
  return notes;
}

/** Files that the task did not change, and staged or unstaged: the person's next commit would have them, or lose them. */
function stagedAlone(repository: Repository, before: Stored, after: Stored): string[] {
  const [then, now] = [before, after].map((state) => extraOf(repository, state.extra, 'staged'));
  if (before.worktree !== null || before.head !== after.head || !then || !now) return [];
  const changed = new Set(diffTrees(repository, before.tree, after.tree).map(({ path }) => path));
  return diffTrees(repository, then, now).flatMap(({ path }) => (changed.has(path) ? [] : [path]));
}

/** Beyond so many, refs are not compared one by one. */
const MOST_MOVED = 50;

/**
 * Branches and tags that a task moved away from commits that were theirs, and tags that it made. Beside a worktree,
 * others do that meanwhile.
 */
function movedNotes(repository: Repository, before: Stored, after: Stored): string[] {
  if (before.worktree !== null) return [];
  const then = new Map((factsOf(repository, before).refs ?? []).map((ref) => [ref.name, ref.oid]));
  const refs = (factsOf(repository, after).refs ?? []).flatMap((ref) => {
    const [, kind, name] = /^refs\/(heads|tags)\/(?!fetch[/-])(.+)$/.exec(ref.name) ?? [];
    const own = kind === 'heads' && name === after.branch;
    return kind && name && !own ? [{ kind, name, oid: ref.oid, was: then.get(ref.name) }] : [];
  });
  const moved = refs
    .filter(({ oid, was }) => was !== undefined && was !== oid)
    .slice(0, MOST_MOVED)
    .filter(({ oid, was }) => !reaches(repository, oid, was!));
  const tags = refs.filter(({ kind, was }) => kind === 'tags' && was === undefined);
  const notes: string[] = [];
  if (moved.length > 0)
    notes.push(
      `The task moved ${named(moved.map(({ name }) => name))} away from earlier commits; "undo" brings them back.`,
    );
  if (tags.length > 0)
    notes.push(`The task made the ${tags.length === 1 ? 'tag' : 'tags'} ${named(tags.map(({ name }) => name))}.`);
  return notes;
}

/** What a task put aside in stashes, where nobody looks for it, and which stashes of before it removed. */
function stashNotes(repository: Repository, before: Stored, after: Stored): string[] {
  const [then, now] = [stashed(repository, before), stashed(repository, after)];
  const missingIn = (some: Map<string, string>, all: Map<string, string>): string[] =>
    // all worktrees have the same stashes, which others change meanwhile
    [...all].flatMap(([commit, title]) =>
      some.has(commit) || (before.worktree !== null && !title.includes(` ${after.branch ?? '(no branch)'}: `))
        ? []
        : [title],
    );
  const [fresh, gone] = [missingIn(then, now), missingIn(now, then)];
  const notes: string[] = [];
  if (fresh.length > 0)
    notes.push(
      `The task put changes aside: ${named(fresh)}. "git stash pop" brings them back, and "undo" removes them.`,
    );
  if (gone.length > 0) notes.push(`The task removed what was put aside before: ${named(gone)}; ${UNDO}.`);
  return notes;
}

const MOST_TITLE = 120;

/** The titles of the stashes of a state, by commit: `WIP on main: 1a2b3c4 Add parser`. */
function stashed(repository: Repository, state: Stored): Map<string, string> {
  const log = stashesOf(repository, state);
  const lines = log ? content(repository, ['cat-file', 'blob', log]).split('\n') : [];
  return new Map(
    lines.flatMap((line) => {
      const [, commit, title] = /^\S+ (\S+) [^\t]*\t(.*)$/.exec(line) ?? [];
      return commit && title ? [[commit, title.slice(0, MOST_TITLE)]] : [];
    }),
  );
}

/** Branches with commits of the task that HEAD does not have. Beside a worktree, others move branches that exist. */
function committedElsewhere(repository: Repository, before: Stored, after: Stored): string[] {
  const then = new Map((factsOf(repository, before).refs ?? []).map((ref) => [ref.name, ref.oid]));
  const known = new Set(then.values());
  return (factsOf(repository, after).refs ?? []).flatMap(({ name, oid }) => {
    const [, branch] = /^refs\/heads\/(?!fetch[/-])(.+)$/.exec(name) ?? [];
    if (!branch || branch === after.branch || known.has(oid) || (before.worktree !== null && then.has(name))) return [];
    return after.head !== null && reaches(repository, after.head, oid) ? [] : [branch];
  });
}

const reaches = (repository: Repository, commit: string, other: string): boolean =>
  commit === other || tryContent(repository, ['merge-base', '--is-ancestor', other, commit]).code === 0;

function otherNotes(repository: Repository, before: Stored, after: Stored, then: Facts): string[] {
  const isInner = among([...(then.nested ?? []), ...(factsOf(repository, after).nested ?? [])]);
  const all = otherChanges(repository, before, after);
  const changes = all.filter(({ path }) => path !== '.git' && !isInner(path));
  const gone = changes.filter((change) => !change.to).map((change) => change.path);
  const changed = changes.filter((change) => change.to && change.from).map((change) => change.path);
  const notes: string[] = [];
  if (all.some(({ path }) => path === '.git'))
    notes.push(`The task removed or changed the .git file, which leads to a repository elsewhere; ${UNDO}.`);
  if (gone.length > 0) notes.push(`Ignored files are gone: ${named(gone)}; "undo" brings them back.`);
  if (changed.length > 0) notes.push(`Ignored files were changed: ${named(changed)}; "undo" takes that back.`);
  const [shown, hidden] = [before, after].map((state) => {
    const tree = extraOf(repository, state.extra, 'absent');
    return new Set(tree ? entriesOf(repository, tree).keys() : []);
  });
  const left = [...hidden!].filter((path) => !shown!.has(path) && entriesOf(repository, before.tree).has(path));
  if (left.length > 0) notes.push(`The task left ${named(left)} out of the working tree; ${UNDO}.`);
  const away = lost(repository, before);
  return away ? [...notes, away] : notes;
}

/** What is gone and was not saved, in a sentence. */
export function lost(repository: Repository, before: Stored): string | null {
  const gone = (factsOf(repository, before).named ?? [])
    .filter((entry) => !entry.print && !isThere(repository.root, entry.path))
    .map((entry) => entry.path);
  return gone.length > 0
    ? `Gone, and not kept because they were large or could not be read: ${named(gone)}. "undo" cannot bring them back.`
    : null;
}

/** Joins two lists of files. */
export function joined(a: Files, b: Files): Files {
  const total = (a.filesChanged ?? a.files.length) + (b.filesChanged ?? b.files.length);
  const files = [...a.files, ...b.files].slice(0, Math.max(a.files.length, b.files.length, LIMITS.listedFiles));
  return {
    files,
    ...(total > files.length && { filesChanged: total }),
    added: a.added + b.added,
    removed: a.removed + b.removed,
  };
}
