import { afterEach, expect, test } from 'vitest';
import type { WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
import { copyOf, killAt } from './kill-at.ts';
import { author, Workspace } from './program.ts';

const made: Workspace[] = [];
afterEach(() => {
  for (const workspace of made.splice(0)) workspace.remove();
});

function copied(original: Workspace): Workspace {
  const copy = copyOf(original);
  made.push(copy);
  return copy;
}

/** Kills the operation at some of its git calls in turn; `check` gets the workspace as the kill left it. */
function killed(original: Workspace, op: WorkspaceOp, every: number, check: (w: Workspace) => void): void {
  const whole = copied(original);
  const calls = killAt(whole, 1_000_000);
  whole.ok(op);
  const total = calls();
  expect(total).toBeGreaterThan(5);
  for (let n = 1; n <= total; n += every) {
    const w = copied(original);
    killAt(w, n);
    expect(w.run(op).signal, `call ${n} of ${total}`).toBe('SIGKILL');
    w.env = {};
    check(w);
    w.remove();
    made.pop();
  }
}

test('a direct edit that is killed at any git command has changed nothing, is no obstacle for undo, and can be asked for again', {
  timeout: 600_000,
}, () => {
  const w = Workspace.repository();
  made.push(w);
  const start = w.files();
  const op: WorkspaceOp = { op: 'write', path: 'a.txt', content: 'two\n', edit: { key: 'edit-1', turn: 't1' } };
  killed(w, op, 1, (left) => {
    expect(left.files()).toEqual(start);
    left.undo();
    expect(left.files()).toEqual(start);
  });
  killed(w, op, 3, (left) => {
    left.ok(op);
    expect(left.read('a.txt')).toBe('two\n');
    expect(left.undo().ok).toBe(true);
    expect(left.files()).toEqual(start);
  });
});

test('a command whose state after it was being kept at a kill is known to undo after the next attempt', {
  timeout: 600_000,
}, () => {
  const w = Workspace.repository({ 'a.txt': 'one\n', 'b.txt': 'b\n' });
  made.push(w);
  const start = w.state();
  w.ok({ op: 'checkpoint', key: 'command-1', author, turn: 't1' });
  w.write({ 'a.txt': 'two\n', 'b.txt': null, 'c.txt': 'c\n' });
  const op: WorkspaceOp = { op: 'settle', key: 'command-1', author };
  killed(w, op, 5, (left) => {
    left.ok(op);
    expect(left.undo().ok).toBe(true);
    expect(left.state()).toEqual(start);
  });
});
