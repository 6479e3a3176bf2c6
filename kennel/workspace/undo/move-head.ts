import { isAncestor } from '../checkpoint/conclude.ts';
import { readOwnRef } from '../checkpoint/record.ts';
import { named } from '../checkpoint/report.ts';
import { git, type Repository, tryGit } from '../git/git.ts';
import { mergeTrees } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import type { Head } from '../git/repository.ts';
import { giveObjects } from '../git/transfer.ts';
import { commitTree, type Signature, treeOf } from '../git/trees.ts';
import { Refusal } from '../refusal.ts';

/** Where HEAD is to go, before anything is moved. */
export interface HeadPlan extends Head {
  how: 'moved' | 'reverted' | 'none';
}

/**
 * HEAD without what happened from `b` to `a`: `b` itself when `a` is the newest commit and nobody else has it yet, or
 * else a further commit. Commit objects may be made; no ref is changed. `refs`: where refs will be by then.
 */
export function planHead(
  repository: Repository,
  now: Head,
  a: Head,
  b: Head,
  message: (subject: string) => string,
  by: Signature,
  refs: ReadonlyMap<string, string | null> = new Map(),
): HeadPlan {
  giveObjects(repository, [a.commit, b.commit]);
  if ((a.commit === b.commit && a.branch === b.branch) || (now.commit === b.commit && now.branch === b.branch))
    return { ...now, how: 'none' };
  const atA = now.commit === a.commit && now.branch === a.branch;
  if (atA && a.branch !== b.branch) {
    // the branch that was switched to keeps its commits
    const there =
      b.branch === null
        ? b.commit
        : (refs.get(`refs/heads/${b.branch}`) ?? readOwnRef(repository, `refs/heads/${b.branch}`));
    if (there !== b.commit)
      throw new Refusal(`Branch ${b.branch} was changed since; switch to it and look at it first.`);
    return { ...b, how: 'moved' };
  }
  if (atA && isUnpublished(repository, a.commit, b.commit)) return { commit: b.commit, branch: b.branch, how: 'moved' };
  const reached =
    now.branch === a.branch ||
    (a.commit !== null && now.commit !== null && isAncestor(repository, a.commit, now.commit));
  if (!reached) {
    throw new Refusal(
      `The commits are on ${a.branch ? `branch ${a.branch}` : 'a detached HEAD'}, but ${now.branch ?? 'a detached HEAD'} is checked out. Switch there first.`,
    );
  }
  const current = treeOf(repository, now.commit);
  const merged = mergeTrees(repository, treeOf(repository, a.commit), current, treeOf(repository, b.commit));
  if (merged.conflicts.length > 0)
    throw new Refusal(`Later commits changed the same places of ${named(merged.conflicts)}; nothing was changed.`);
  if (merged.tree === current) return { ...now, how: 'none' };
  const commit = commitTree(
    repository,
    merged.tree,
    now.commit ? [now.commit] : [],
    message(subjectOf(repository, a.commit)),
    by,
  );
  giveObjects(repository, [commit], { except: [now.commit] });
  return { commit, branch: now.branch, how: 'reverted' };
}

/** Whether no remote has any of the commits of `a` that `b` has not. */
function isUnpublished(repository: Repository, a: string | null, b: string | null): boolean {
  if (a === null) return true;
  const count = (...more: string[]) =>
    git(repository, ['rev-list', '--count', a, ...(b ? [`^${b}`] : []), ...more]).trim();
  return count() === count('--not', '--remotes');
}

function subjectOf(repository: Repository, commit: string | null): string {
  return commit ? utf8(git(repository, ['log', '-n1', '--format=%s', commit]).trim()) : '';
}

/** Detaches HEAD from a branch that it leaves, so that it stays where it is while that branch is moved. */
export function leaveBranch(repository: Repository, now: Head, from: Head, to: Head, why: string): void {
  if (from.branch === to.branch || now.branch !== from.branch || now.commit !== from.commit || !from.commit) return;
  tryGit(repository, ['update-ref', '-m', why, '--no-deref', 'HEAD', from.commit]);
}

/** Moves HEAD from where a plan began to where it ends. False when it is at neither by now. */
export function moveHead(repository: Repository, now: Head, from: Head, to: Head, why: string): boolean {
  if (now.commit === to.commit && now.branch === to.branch) return true;
  const hasLeft = now.branch === null && from.branch !== to.branch;
  if (now.commit !== from.commit || (now.branch !== from.branch && !hasLeft)) return false;
  const move = (...args: string[]) => {
    const moved = tryGit(repository, args);
    if (moved.code !== 0) throw new Refusal(`git could not move the branch: ${moved.stderr.trim()}`);
  };
  if (to.branch !== from.branch) {
    if (to.branch !== null) move('symbolic-ref', '-m', why, 'HEAD', `refs/heads/${to.branch}`);
    else move('update-ref', '-m', why, '--no-deref', 'HEAD', to.commit!);
  } else if (to.commit === null) move('update-ref', '-m', why, '-d', `refs/heads/${to.branch}`, from.commit!);
  else move('update-ref', '-m', why, 'HEAD', to.commit, from.commit ?? '0'.repeat(to.commit.length));
  return true;
}
