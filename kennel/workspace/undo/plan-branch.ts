import { readResult } from '../checkpoint/conclude.ts';
import { readOwnRef } from '../checkpoint/record.ts';
import { named } from '../checkpoint/report.ts';
import { git, type Repository } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { headOf } from '../git/repository.ts';
import { emptyTree } from '../git/trees.ts';
import { Refusal } from '../refusal.ts';
import { type Planning, recordOf } from './plan.ts';
import type { Task } from './take-back.ts';
import type { UndoRecord } from './undo-log.ts';

/** A task in a worktree has left a branch, and nothing else. */
export function planBranch(
  planning: Planning,
  { before, after }: Task,
  notes: string[],
  refs: UndoRecord['refs'] = [],
): UndoRecord {
  const { repository } = planning;
  const { key } = before;
  const result = readResult(repository, key);
  const branch = after.branch ?? result?.keptOn ?? null;
  const tip = result?.tip ?? after.head;
  const name = `refs/heads/${branch}`;
  const head = headOf(repository);
  const changes = [...refs];
  if (branch !== null && tip && readOwnRef(repository, name)) {
    if (readOwnRef(repository, name) !== tip)
      throw new Refusal(`Branch ${branch} has had commits since. Nothing was changed; look at it first.`);
    if (head.branch === branch)
      throw new Refusal(`Branch ${branch} is checked out. Switch to another one first; nothing was changed.`);
    const holders = holdersOf(repository, tip, name);
    if (holders.length > 0 && tip !== before.head) {
      throw new Refusal(
        `The commits of task ${key} are in ${named(holders)} by now. Take them back there with git revert; nothing was changed.`,
      );
    }
    changes.push({ name: Buffer.from(name).toString('latin1'), from: tip, to: null });
  } else notes.push('Its branch is gone already');
  const none = emptyTree(repository);
  return {
    ...recordOf(planning, head, head, 'none', notes),
    refs: changes,
    kind: 'undo',
    of: null,
    keys: [key],
    filesFrom: none,
    filesTo: none,
    stagedFrom: null,
    stagedTo: null,
  };
}

/** Other branches that hold a commit. */
const holdersOf = (repository: Repository, commit: string, except: string): string[] =>
  git(repository, ['for-each-ref', '--format=%(refname)', '--contains', commit, 'refs/heads', 'refs/remotes'])
    .split('\n')
    .filter((ref) => ref !== '' && utf8(ref) !== except);
