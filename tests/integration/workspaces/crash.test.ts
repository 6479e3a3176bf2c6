import { afterAll, expect, test } from 'vitest';
import type { WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
import { copyOf, killAt } from './kill-at.ts';
import { author, Workspace } from './program.ts';

const made: Workspace[] = [];
afterAll(() => {
  for (const workspace of made) workspace.remove();
});

/** A repository after a task that changed, added and deleted files beside staged and unstaged work of the person. */
function prepared(): Workspace {
  const w = Workspace.repository({ 'a.txt': 'one\n', 'b.txt': 'b\n', 'gone.txt': 'gone\n' });
  w.write({ 'b.txt': 'unfinished\n', 'staged.txt': 'staged\n', 'wip.txt': 'wip\n' });
  w.git('add', 'staged.txt');
  w.checkpoint('t1');
  w.write({ 'a.txt': 'two\n', 'new/n.txt': 'n\n', 'gone.txt': null });
  return w;
}

function copied(original: Workspace): Workspace {
  const copy = copyOf(original);
  made.push(copy);
  return copy;
}

/**
 * Only calls that write something in the workspace or the store: all others find the same when they are done again, and
 * an index of its own goes with the process.
 */
const WRITING = {
  before: [
    'case "$GIT_INDEX_FILE" in */fetch-git-*) own=scratch ;; esac',
    'case " $* $own " in *" update-index "*" scratch "*) ;; *" update-ref "*|*" symbolic-ref -m "*|*" update-index "*|*" index-pack "*|*" unpack-objects "*)',
  ],
  after: ['esac'],
};

const seen = (w: Workspace) => ({
  ...w.state(),
  head: w.git('rev-parse', 'HEAD^{tree}'),
  log: w.git('log', '--format=%s'),
  branches: w.git('branch', '--format=%(refname)'),
});

/** Kills the operation at each of its writing git calls in turn, and asks again. */
function survives(original: Workspace, op: WorkspaceOp): void {
  const whole = copied(original);
  const calls = killAt(whole, 1_000_000, WRITING);
  const expected = whole.ok(op);
  const wanted = seen(whole);
  const total = calls();
  expect(total).toBeGreaterThan(3);
  for (let n = 1; n <= total; n += 1) {
    const w = copied(original);
    killAt(w, n, WRITING);
    expect(w.run(op).signal, `call ${n} of ${total}`).toBe('SIGKILL');
    w.env = {};
    const answer = w.ok(op);
    expect(seen(w), `killed at call ${n} of ${total}`).toEqual(wanted);
    if (op.op === 'conclude') {
      expect(answer.data).toMatchObject({
        files: expected.data!.files,
        branch: 'main',
        commit: w.git('rev-parse', 'HEAD'),
      });
      expect(w.ok(op)).toEqual(answer);
    }
    w.remove();
    made.pop();
  }
}

test('a conclusion that is killed at any git command is finished by the next call, with one commit', {
  timeout: 600_000,
}, () => {
  const w = prepared();
  made.push(w);
  survives(w, { op: 'conclude', key: 't1', message: 'Task t1', author, keepOnBranchOnly: false });
});

test('an undo that is killed at any git command is finished by the next call with its key', {
  timeout: 600_000,
}, () => {
  const w = prepared();
  made.push(w);
  w.conclude('t1');
  w.write({ 'later.txt': 'later\n' });
  survives(w, { op: 'undo', what: 'one', author, key: 'call-1' });
});
