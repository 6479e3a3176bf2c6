import type { Author, DirectEdit, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { remove } from '../files/change.ts';
import { kept, type Repository } from '../git/git.ts';
import { isFolder, type Place } from '../git/repository.ts';
import { tidy } from '../git/transfer.ts';
import { diffTrees, jsonBlob } from '../git/trees.ts';
import { lost, otherChanges } from './besides.ts';
import { checkpoint, repositoryOf, takeHistory } from './checkpoint.ts';
import { type Result, takeAfter } from './conclude.ts';
import { folderChanges, stashesOf, storedIndex } from './git-folder.ts';
import { isThere } from './others.ts';
import { extraOf, factsOf, readRef, readState, refOf, type Stored, writeRef } from './record.ts';

/**
 * A direct command can change anything, so the whole workspace is saved before and after it, as for a task. Nothing is
 * committed: what the command did stays as the person would find it after typing it.
 */
export function settle(place: Place, key: string, author: Author): WorkspaceAnswer {
  const { repository, before } = repositoryOf(place, key);
  if (readRef(repository, refOf(key, 'result')))
    return { ok: true, output: 'The state after it is kept.', data: { changed: true } };
  const { refs, head } = repository.opened;
  const unread = takeHistory(repository, refs, head);
  const after =
    readState(repository, key, 'after') ?? takeAfter(repository, before, { key, author }, { refs, head, unread });
  const changed = hasChanged(repository, before, after);
  if (changed) {
    const result: Result = { commit: null, branch: head.branch, tip: head.commit, files: [], added: 0, removed: 0 };
    writeRef(repository, refOf(key, 'result'), jsonBlob(repository, result), null);
  } else for (const what of ['before', 'after'] as const) kept(repository, ['update-ref', '-d', refOf(key, what)]);
  tidy(repository);
  const gone = lost(repository, before);
  return { ok: true, output: gone ?? 'The state after it is kept.', data: { changed, ...(gone && { lost: gone }) } };
}

/** Deletes a folder with everything in it, between two saved states. */
export function removeFolder(place: Place, path: string, edit: DirectEdit): WorkspaceAnswer {
  if (!isFolder(place.side)) return remove(place.root, path, 'folder', false);
  const author = { name: 'Fetch', email: 'fetch@localhost' };
  // refused before anything is saved
  remove(place.root, path, 'folder', true);
  checkpoint(place, edit.key, author, edit.turn);
  const answer = remove(place.root, path, 'folder', false);
  const unkept = settle(place, edit.key, author).data?.lost;
  return unkept ? { ok: true, output: `${answer.output} ${unkept}`, data: { ...answer.data, unkept } } : answer;
}

/** Whether undo would have anything to do. */
function hasChanged(repository: Repository, before: Stored, after: Stored): boolean {
  if (
    before.head !== after.head ||
    before.branch !== after.branch ||
    before.kept !== after.kept ||
    before.damage !== after.damage
  )
    return true;
  if (diffTrees(repository, before.tree, after.tree).length > 0 || otherChanges(repository, before, after).length > 0)
    return true;
  if (
    ['staged', 'unmerged', 'absent'].some(
      (name) => extraOf(repository, before.extra, name) !== extraOf(repository, after.extra, name),
    )
  )
    return true;
  if (folderChanges(repository, before, after).length > 0) return true;
  const index = [before, after].map((state) => extraOf(repository, state.extra, 'index'));
  if (index[0] !== index[1] && storedIndex(repository, before)?.marks !== storedIndex(repository, after)?.marks)
    return true;
  if (stashesOf(repository, before) !== stashesOf(repository, after)) return true;
  const [then, now] = [factsOf(repository, before), factsOf(repository, after)];
  if (JSON.stringify(then.refs) !== JSON.stringify(now.refs)) return true;
  return [...(then.folders ?? []), ...(then.pipes ?? [])].some((path) => !isThere(repository.root, path));
}
