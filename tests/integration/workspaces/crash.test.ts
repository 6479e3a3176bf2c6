import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
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

function copyOf(original: Workspace): Workspace {
  const copy = new Workspace();
  made.push(copy);
  cpSync(original.root, copy.root, { recursive: true, verbatimSymlinks: true });
  cpSync(original.side, copy.side, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/**
 * Puts a `git` first in PATH that kills the program instead of doing its n-th call that writes something in the workspace or the store (all others
 * find the same when they are done again; an index of its own goes with the process). Returns a reading of the number of such calls.
 */
function killAt(w: Workspace, n: number): () => number {
  const bin = join(w.base, 'bin');
  const count = join(w.base, 'count');
  mkdirSync(bin, { recursive: true });
  writeFileSync(count, '0');
  const lines = [
    'case "$GIT_INDEX_FILE" in */fetch-git-*) own=scratch ;; esac',
    'case " $* $own " in *" update-index "*" scratch "*) ;; *" update-ref "*|*" symbolic-ref -m "*|*" update-index "*|*" index-pack "*|*" unpack-objects "*)',
    `  n=$(($(cat ${count}) + 1)); echo $n > ${count}`,
    `  if [ $n -eq ${n} ]; then kill -9 $PPID; exit 1; fi`,
    'esac',
    `PATH=${process.env.PATH} exec git "$@"`,
  ];
  writeFileSync(join(bin, 'git'), `#!/bin/sh\n${lines.join('\n')}\n`);
  chmodSync(join(bin, 'git'), 0o755);
  w.env = { PATH: `${bin}:${process.env.PATH}` };
  return () => Number(readFileSync(count, 'utf8'));
}

const seen = (w: Workspace) => ({
  ...w.state(),
  head: w.git('rev-parse', 'HEAD^{tree}'),
  log: w.git('log', '--format=%s'),
  branches: w.git('branch', '--format=%(refname)'),
});

/** Kills the operation at each of its writing git calls in turn, and asks again. */
function survives(original: Workspace, op: WorkspaceOp): void {
  const whole = copyOf(original);
  const calls = killAt(whole, 1_000_000);
  const expected = whole.ok(op);
  const wanted = seen(whole);
  const total = calls();
  expect(total).toBeGreaterThan(3);
  for (let n = 1; n <= total; n += 1) {
    const w = copyOf(original);
    killAt(w, n);
    expect(w.run(op).signal, `call ${n} of ${total}`).toBe('SIGKILL');
    w.env = {};
    const answer = w.ok(op);
    expect(seen(w), `killed at call ${n} of ${total}`).toEqual(wanted);
    if (op.op === 'conclude') {
      expect(answer.data).toMatchObject({ files: expected.data!.files, branch: 'main', commit: w.git('rev-parse', 'HEAD') });
      expect(w.ok(op)).toEqual(answer);
    }
    w.remove();
    made.pop();
  }
}

test('a conclusion that is killed at any git command is finished by the next call, with one commit', { timeout: 600_000 }, () => {
  const w = prepared();
  made.push(w);
  survives(w, { op: 'conclude', key: 't1', message: 'Task t1', author, keepOnBranchOnly: false });
});

test('an undo that is killed at any git command is finished by the next call with its key', { timeout: 600_000 }, () => {
  const w = prepared();
  made.push(w);
  w.conclude('t1');
  w.write({ 'later.txt': 'later\n' });
  survives(w, { op: 'undo', what: 'one', author, key: 'call-1' });
});
