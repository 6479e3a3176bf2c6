import { isAbsolute } from 'node:path';
import type { WorkspaceAnswer, WorkspaceOp } from '../../src/contracts/workspace-ops.ts';
import { base, head } from './checkpoint/base.ts';
import { checkpoint } from './checkpoint/checkpoint.ts';
import { conclude } from './checkpoint/conclude.ts';
import { keepEdit } from './checkpoint/direct-edit.ts';
import { removeFolder, settle } from './checkpoint/settle.ts';
import { addWorktree, removeWorktree, worktreeAgain } from './checkpoint/worktree.ts';
import { environment, environmentFiles } from './environment/find.ts';
import { edit, remove, write } from './files/change.ts';
import { digest } from './files/digest.ts';
import { list, read } from './files/look.ts';
import { search } from './files/search.ts';
import { placeOf } from './git/repository.ts';
import { create } from './project/create.ts';
import { gitBranch, gitCommit, gitDiff, gitLog, gitStatus } from './project/git-tools.ts';
import { profile } from './project/profile.ts';
import { Refusal } from './refusal.ts';
import { undo } from './undo/undo.ts';

/** Does one operation. Throws `Refusal` for an answer with `ok: false`. */
export function perform(workspace: string, side: string, op: WorkspaceOp): WorkspaceAnswer | Promise<WorkspaceAnswer> {
  if (!isAbsolute(workspace)) throw new Error('the root of the workspace must be absolute');
  const again =
    op.op === 'conclude' && op.worktree !== undefined
      ? worktreeAgain(placeOf(workspace, side, undefined), op.worktree)
      : null;
  const place = placeOf(workspace, side, op.worktree);
  switch (op.op) {
    case 'list':
      return list(place.root, op.path, op.depth, op.limit);
    case 'read':
      return read(place.root, op.path, op.from, op.lines);
    case 'digest':
      return digest(place.root, op.path);
    case 'search':
      return op.symbol
        ? import('./map/symbols.ts').then(({ findSymbol }) => findSymbol(place.root, op))
        : search(place.root, op);
    case 'write':
      return write(place.root, op.path, op.content, op.preview ?? false, keepEdit(place, op.edit));
    case 'edit':
      return edit(place.root, op.path, op.find, op.replace, op.all, op.preview ?? false, keepEdit(place, op.edit));
    case 'delete':
      return op.kind === 'folder' && op.edit && !op.preview
        ? removeFolder(place, op.path, op.edit)
        : remove(place.root, op.path, op.kind, op.preview ?? false, keepEdit(place, op.edit));
    case 'git-status':
      return gitStatus(place);
    case 'git-diff':
      return gitDiff(place, op.path, op.staged, op.against);
    case 'git-log':
      return gitLog(place, op.limit);
    case 'git-commit':
      return gitCommit(place, op.message, op.paths, op.author);
    case 'git-branch':
      return gitBranch(place, op.action, op.name);
    case 'profile':
      return profile(place);
    case 'map':
      // its parser is loaded only here
      return import('./map/map.ts').then(({ repositoryMap }) => repositoryMap(place));
    case 'environment':
      return environment(place);
    case 'environment-files':
      return environmentFiles(place);
    case 'create':
      return create(place, op);
    case 'checkpoint':
      return checkpoint(place, op.key, op.author, op.turn);
    case 'conclude':
      return conclude(place, op, again);
    case 'base':
      return base(place, op);
    case 'head':
      return head(place, op);
    case 'settle':
      return settle(place, op.key, op.author);
    case 'undo':
      return undo(place, op);
    case 'worktree':
      if (op.worktree !== undefined) throw new Refusal('A worktree has no worktrees.');
      return op.action === 'add' ? addWorktree(place, op.key, op.from) : removeWorktree(place, op.key, op.author);
    default:
      throw new Refusal(`There is no operation ${String((op as { op?: unknown }).op)}.`);
  }
}
