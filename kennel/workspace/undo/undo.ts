import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { pathsOf, takeHistory } from '../checkpoint/checkpoint.ts';
import { remakeFolder } from '../checkpoint/git-folder.ts';
import { openHistory } from '../checkpoint/history.ts';
import { hadRepository, now, states } from '../checkpoint/record.ts';
import type { Repository } from '../git/git.ts';
import { headOf, inProgress, type Place } from '../git/repository.ts';
import { takeSnapshot } from '../git/snapshot.ts';
import { indexFile, indexLock, indexText, ownIndex } from '../git/staging.ts';
import type { Signature } from '../git/trees.ts';
import { OwnRefusal } from '../refusal.ts';
import { answer, finish } from './finish.ts';
import { planHead } from './move-head.ts';
import { type Planning, planUndo, recordOf, stagedOf, strip, type Undoing, without } from './plan-undo.ts';
import type { Task } from './take-back.ts';
import { readUndoLog, standing, type UndoRecord, writeUndoRecord } from './undo-log.ts';

function planRedo(planning: Planning): UndoRecord {
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
          new Map((last.refs ?? []).map(({ name, from }) => [Buffer.from(name, 'latin1').toString('utf8'), from])),
        );
  const present = strip(repository, snapshot.tree, (path) => snapshot.absent.has(path));
  const files = without(repository, last.filesTo, present, last.filesFrom, 'The files');
  const staged =
    start && last.stagedTo && last.stagedFrom
      ? without(repository, last.stagedTo, start, last.stagedFrom, 'Staged changes of')
      : start;
  const isAsLeft =
    last.index &&
    next.commit === last.headFrom &&
    next.branch === last.branchFrom &&
    indexText(repository) === indexText(repository, indexFile(repository, last.index));
  return {
    ...recordOf(planning, head, next, next.how, []),
    ...(last.othersFrom && last.othersTo && { othersFrom: last.othersTo, othersTo: last.othersFrom }),
    ...(last.stashes && { stashes: { from: last.stashes.to, to: last.stashes.from } }),
    ...(last.folderFrom && last.folderTo && { folderFrom: last.folderTo, folderTo: last.folderFrom }),
    refs: (last.refs ?? []).map(({ name, from, to }) => ({ name, from: to, to: from })),
    kind: 'redo',
    of: last.n,
    keys: last.keys,
    ...(last.index && last.indexFrom && isAsLeft && { index: last.indexFrom, indexFrom: ownIndex(repository) }),
    filesFrom: present,
    filesTo: files,
    stagedFrom: start,
    stagedTo: staged,
  };
}

/**
 * Takes tasks back, or the last undo. What the person changed since is kept by three-way merges of files, commits and
 * index; where that does not work out, nothing is changed. A call that was killed in the middle is finished by the next
 * one.
 */
export function undo(place: Place, op: Undoing): WorkspaceAnswer {
  const history = openHistory(place, false);
  if (!history || states(history, 'before').length === 0)
    throw new OwnRefusal('There is nothing to undo: no task, edit or command has changed this workspace.');
  const log = readUndoLog(history);
  const by: Signature = { ...op.author, seconds: now() };
  const begun = log.find((record) => !record.done && record.worktree === history.worktree);
  if (begun) return finish(history, begun, by, true);
  const asked = op.key ? log.find((record) => record.request === op.key) : undefined;
  if (asked) return answer(history, asked);
  const chosen = op.what === 'redo' ? [] : chooseTasks(history, log, op);
  const { repository, notes } = wholeAgain(
    place,
    history,
    chosen.filter(({ before }) => !before.partial),
  );
  checkCalm(repository);
  takeHistory(repository);
  const planning = { repository, log, op, by };
  const record = op.what === 'redo' ? planRedo(planning) : planUndo(planning, chosen, notes);
  writeUndoRecord(repository, record, by, null);
  return finish(repository, record, by, false);
}

/** The tasks and direct edits that are to be taken back, the newest first. */
function chooseTasks(repository: Repository, log: UndoRecord[], op: Undoing): Task[] {
  const { undone } = standing(log, repository.worktree);
  const afters = new Map(states(repository, 'after').map((after) => [after.key, after]));
  const tasks = states(repository, 'before')
    .filter(
      (before) =>
        (op.task === undefined ? before.worktree === repository.worktree : before.key === op.task) &&
        !undone.has(before.key),
    )
    .reverse()
    .flatMap((before): Task[] => {
      const after = afters.get(before.key);
      return after ? [{ before, after }] : [];
    });
  if (tasks.length > 0) return op.what === 'one' ? newestStep(tasks) : tasks;
  if (op.task === undefined) throw new OwnRefusal('There is nothing to undo.');
  throw new OwnRefusal(
    undone.has(op.task) ? `Task ${op.task} is undone already.` : `No task ${op.task} has ended in this workspace.`,
  );
}

/**
 * The newest task, or all direct edits of the newest turn with no task among them: one thing that the person asked for.
 */
function newestStep(tasks: Task[]): Task[] {
  const { turn } = tasks[0]!.before;
  const end = tasks.findIndex(({ before }) => before.turn !== turn);
  return turn === undefined ? tasks.slice(0, 1) : tasks.slice(0, end < 0 ? tasks.length : end);
}

/** The repository with its git folder made again, where a task has taken or damaged it. */
function wholeAgain(place: Place, history: Repository, chosen: Task[]): { repository: Repository; notes: string[] } {
  // the state before the oldest of them is the one to go back to
  const source = chosen.findLast(({ before }) => hadRepository(before))?.before;
  const mark = join(history.store!, 'remaking');
  if (source && history.kept === 'workspace' && !hadRepository(chosen[0]!.after) && !existsSync(mark)) {
    const head = headOf(history);
    // an undo that was done again has made it whole already
    if (head.commit === source.head && head.branch === source.branch) return { repository: history, notes: [] };
    throw new OwnRefusal(
      'The task removed the git folder, and another repository was made here since. Move its .git elsewhere first; nothing was changed.',
    );
  }
  const due = source && (history.kept === 'beside' || chosen.some(({ after }) => after.damage) || existsSync(mark));
  if (!due) return { repository: history, notes: [] };
  writeFileSync(mark, source.commit);
  const unknown = chosen.some(({ before, after }) => hadRepository(before) && !hadRepository(after));
  const why = remakeFolder(place, history, source, unknown || history.kept === 'beside');
  rmSync(mark, { force: true });
  const repository = openHistory(place, false)!;
  return {
    repository,
    notes: [
      why ? `The git folder could not be made whole again (${why})` : 'The git folder is whole again, with its history',
    ],
  };
}

function checkCalm(repository: Repository): void {
  if (repository.kept === 'beside') return;
  const doing = inProgress(repository);
  if (doing)
    throw new OwnRefusal(
      `${doing[0]!.toUpperCase()}${doing.slice(1)} is in progress; finish or abort it first. Nothing was changed.`,
    );
  const lock = indexLock(repository);
  if (lock) throw new OwnRefusal(`Nothing was changed: ${lock}.`);
}
