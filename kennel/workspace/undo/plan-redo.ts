import { pathsOf } from '../checkpoint/checkpoint.ts';
import { headOf } from '../git/repository.ts';
import { takeSnapshot } from '../git/snapshot.ts';
import { OwnRefusal } from '../refusal.ts';
import { planHead } from './move-head.ts';
import { type Planning, recordOf, stagedOf, without } from './plan.ts';
import { standing, type UndoRecord } from './undo-log.ts';

export function planRedo(planning: Planning): UndoRecord {
  const { repository, log, by } = planning;
  const { last } = standing(log, repository.worktree);
  if (!last) throw new OwnRefusal('There is no undo to take back.');
  const snapshot = takeSnapshot(repository, { also: pathsOf(repository, [last.filesFrom, last.filesTo]) });
  const start = stagedOf(repository, snapshot);
  const head = headOf(repository);
  const message = (subject: string) =>
    `Redo ${last.keys.join(', ')}\n\nTakes back ${subject ? `"${subject}"` : 'an undo'}.\n`;
  const next =
    repository.kept === 'beside'
      ? { ...head, how: 'none' as const }
      : planHead(
          repository,
          head,
          { commit: last.headTo, branch: last.branchTo },
          { commit: last.headFrom, branch: last.branchFrom },
          message,
          by,
        );
  const files = without(repository, last.filesTo, snapshot.tree, last.filesFrom, 'The files');
  const staged =
    start && last.stagedTo && last.stagedFrom
      ? without(repository, last.stagedTo, start, last.stagedFrom, 'Staged changes of')
      : start;
  return {
    ...recordOf(planning, head, next, next.how, []),
    ...(last.othersFrom && last.othersTo && { othersFrom: last.othersTo, othersTo: last.othersFrom }),
    ...(last.stashes && { stashes: { from: last.stashes.to, to: last.stashes.from } }),
    ...(last.folderFrom && last.folderTo && { folderFrom: last.folderTo, folderTo: last.folderFrom }),
    refs: (last.refs ?? []).map(({ name, from, to }) => ({ name, from: to, to: from })),
    kind: 'redo',
    of: last.n,
    keys: last.keys,
    filesFrom: snapshot.tree,
    filesTo: files,
    stagedFrom: start,
    stagedTo: staged,
  };
}
