import type { Undone, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { applyToFolder } from '../checkpoint/git-folder.ts';
import { readRef } from '../checkpoint/record.ts';
import { named } from '../checkpoint/report.ts';
import { applyChanges, inTheWayOf } from '../files/apply.ts';
import { shown } from '../files/names.ts';
import { kept, type Repository } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { headOf } from '../git/repository.ts';
import { restage } from '../git/staging.ts';
import { giveObjects, setRefs } from '../git/transfer.ts';
import { diffTrees, type Signature } from '../git/trees.ts';
import { Refusal } from '../refusal.ts';
import { moveHead } from './move-head.ts';
import { changesOf, remakeEmpty, setStashes } from './take-back.ts';
import { stepRef, type UndoStep, writeStep } from './undo-log.ts';

/** Does what a step says, as far as it is not done yet. */
export function finish(repository: Repository, step: UndoStep, by: Signature, resumed: boolean): WorkspaceAnswer {
  const ref = stepRef(step.n);
  const stored = readRef(repository, ref)!;
  const { refused } = applyChanges(repository, diffTrees(repository, step.filesFrom, step.filesTo), !resumed);
  const notes = [...step.notes];
  if (refused.length > 0 && !resumed) {
    kept(repository, ['update-ref', '-d', ref, stored]);
    throw new Refusal(`${named(refused)} changed at this moment, or something that git does not keep is in the way. Nothing was changed; try again.`);
  }
  if (refused.length > 0) notes.push(`${named(refused)} changed in the meantime and stay as they are`);
  const others = changesOf(repository, step.othersFrom, step.othersTo);
  notes.push(...leftNotes(repository, applyChanges(repository, others, false).refused, step.kind));
  if (step.kind === 'undo') {
    const lost = remakeEmpty(repository, step.folders ?? [], step.pipes ?? []);
    if (lost.length > 0) notes.push(`Empty folders or pipes could not be made again: ${named(lost)}`);
  }
  if (repository.kept === 'workspace') {
    const own = applyToFolder(repository, changesOf(repository, step.folderFrom, step.folderTo));
    if (own.length > 0) notes.push(`${named(own)} in the git folder changed since the task and stay as they are`);
    giveObjects(
      repository,
      (step.refs ?? []).map((ref) => ref.to),
    );
    const left = setRefs(repository, step.refs ?? []);
    if (left.length > 0) notes.push(`${named(left)} changed since the task and stay as they are`);
    setStashes(repository, step);
    const from = { commit: step.headFrom, branch: step.branchFrom };
    const to = { commit: step.headTo, branch: step.branchTo };
    if (moveHead(repository, headOf(repository), from, to, `fetch: ${step.kind} ${step.keys.join(' ')}`)) {
      if (step.stagedFrom && step.stagedTo) restage(repository, diffTrees(repository, step.stagedFrom, step.stagedTo));
    } else notes.push('HEAD was moved in the meantime and stays where it is');
  }
  const done = { ...step, notes, done: true };
  writeStep(repository, done, by, stored);
  return answer(repository, done);
}

/** Files that git does not look at and that are left as they are, each with its reason. */
function leftNotes(repository: Repository, paths: string[], kind: UndoStep['kind']): string[] {
  const away = new Map(paths.map((path) => [path, inTheWayOf(repository, path)]));
  const changed = paths.filter((path) => away.get(path) === null);
  const kept = paths.filter((path) => away.get(path) !== null);
  const others = [...new Set(kept.map((path) => away.get(path)!))];
  const again = kind === 'undo' ? '"redo" and then "undo" again' : '"undo" and then "redo" again';
  return [
    ...(changed.length > 0 ? [`${named(changed)} changed since the task and stay as they are`] : []),
    ...(kept.length > 0 ? [`${named(kept)} could not be put back, because ${named(others)} is in the way: move it away, and say ${again}`] : []),
  ];
}

export function answer(repository: Repository, step: UndoStep): WorkspaceAnswer {
  const others = changesOf(repository, step.othersFrom, step.othersTo).map((change) => change.path);
  const files = [...diffTrees(repository, step.filesFrom, step.filesTo).map((change) => change.path), ...others.filter((path) => !/(^|\/)\.git\//.test(path))];
  const verb = step.kind === 'undo' ? 'Undid' : 'Did again';
  const how = {
    moved:
      step.branchFrom === step.branchTo
        ? `The branch ${step.kind === 'undo' ? 'went back to' : 'is at'} ${step.headTo?.slice(0, 10) ?? 'no commit'}.`
        : `HEAD is on ${step.branchTo ?? 'a detached HEAD'} again.`,
    reverted: `Commit ${step.headTo?.slice(0, 10)} takes it back, as there are later or published commits.`,
    none: (step.refs ?? []).length > 0 ? `${named(step.refs!.map((ref) => ref.name))} ${step.refs!.length === 1 ? 'is' : 'are'} as before it.` : '',
  }[step.commits];
  const which = `${verb} ${step.keys.length === 1 ? `task ${step.keys[0]}` : `${step.keys.length} tasks`}`;
  const what = files.length === 0 ? 'no file changes.' : `${files.length} ${files.length === 1 ? 'file' : 'files'}: ${named(files)}.`;
  const data: Undone = { keys: step.keys, files: files.slice(0, 500).map((path) => shown(utf8(path))), commits: step.commits, head: step.headTo };
  const back = step.kind === 'undo' ? ' It can be taken back with "redo".' : '';
  const notes = step.notes.length > 0 ? ` ${step.notes.join('. ')}.` : '';
  return { ok: true, output: `${which}; ${what}${how ? ` ${how}` : ''}${notes}${back}`, data: { ...data } };
}
