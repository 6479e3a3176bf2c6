import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { author, Workspace } from './program.ts';

const made: Workspace[] = [];
afterEach(() => {
  for (const workspace of made.splice(0)) workspace.remove();
});

const repository = (files?: Record<string, string>): Workspace => {
  const w = Workspace.repository(files);
  made.push(w);
  return w;
};

let calls = 0;
const edit = (turn: string) => ({ key: `edit-${++calls}`, turn });
const write = (w: Workspace, turn: string, path: string, content: string) =>
  w.ok({ op: 'write', path, content, edit: edit(turn) });
const replace = (w: Workspace, turn: string, path: string, find: string, by: string) =>
  w.ok({ op: 'edit', path, find, replace: by, all: false, edit: edit(turn) });

/** A command as `shell_run` runs it: between two saved states. */
function command(w: Workspace, turn: string, act: () => void) {
  const key = `command-${++calls}`;
  w.ok({ op: 'checkpoint', key, author, turn });
  act();
  return w.ok({ op: 'settle', key, author });
}

test('what one turn wrote, changed and deleted is one step of undo, and of redo', () => {
  const w = repository({ 'a.txt': 'one\n', 'gone.txt': 'gone\n', 'f/x.txt': 'x\n' });
  const start = w.state();
  write(w, 't1', 'new/deep/n.txt', 'nü\n');
  replace(w, 't1', 'a.txt', 'one', 'two');
  w.ok({ op: 'delete', path: 'gone.txt', kind: 'file', edit: edit('t1') });
  w.ok({ op: 'delete', path: 'f', kind: 'folder', edit: { key: 'command-f', turn: 't1' } });
  const end = w.state();
  expect(w.undo()).toMatchObject({
    ok: true,
    output: expect.stringMatching(/^Undone \(3 edits and 1 command\): /),
  });
  expect(w.state()).toEqual(start);
  expect(existsSync(join(w.root, 'new'))).toBe(false);
  expect(w.undo('redo').ok).toBe(true);
  expect(w.state()).toEqual(end);
});

test('edits of two turns, with a task between, are undone one after the other, or all at once', () => {
  const w = repository();
  const states = [w.state()];
  const step = (act: () => unknown) => {
    act();
    states.push(w.state());
  };
  step(() => write(w, 't1', 'b.txt', 'b\n'));
  step(() => {
    w.checkpoint('task');
    w.write({ 'a.txt': 'of the task\n' });
    w.conclude('task', { keepOnBranchOnly: true });
  });
  step(() => write(w, 't1', 'c.txt', 'c\n'));
  step(() => write(w, 't2', 'a.txt', 'direct\n'));
  for (const state of states.slice(0, -1).reverse()) {
    expect(w.undo().ok).toBe(true);
    expect(w.state().files).toEqual(state.files);
  }
  expect(w.undo()).toMatchObject({ ok: false, output: 'There is nothing to undo.' });
  for (const state of states.slice(1)) {
    expect(w.undo('redo').ok).toBe(true);
    expect(w.state().files).toEqual(state.files);
  }
  expect(w.undo('all').output).toMatch(/^Undone \(1 task and 3 edits\): /);
  expect(w.state().files).toEqual(states[0]!.files);
});

test('what a person wrote between two edits of a turn and after them stays', () => {
  const w = repository({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n8\n9\n' });
  replace(w, 't1', 'a.txt', '1\n', 'first\n');
  w.write({ 'a.txt': w.read('a.txt').replace('5\n', 'person\n'), 'own.txt': 'own\n' });
  replace(w, 't1', 'a.txt', '9\n', 'last\n');
  w.write({ 'a.txt': `${w.read('a.txt')}person too\n` });
  // the person's line is beside the last edit, so that only they can say what is meant
  expect(w.undo()).toMatchObject({
    ok: false,
    output: expect.stringContaining('a.txt were changed since, in the same places'),
  });
  w.write({ 'a.txt': w.read('a.txt').replace('person too\n', '') });
  expect(w.undo().ok).toBe(true);
  expect(w.read('a.txt')).toBe('1\n2\n3\n4\nperson\n6\n7\n8\n9\n');
  expect(w.read('own.txt')).toBe('own\n');
});

test('ignored files, files in repositories inside, links and permissions to run come back as they were', () => {
  const w = repository({ 'a.txt': 'one\n', '.gitignore': '.env\n', 'run.sh': '#!/bin/sh\n' });
  chmodSync(join(w.root, 'run.sh'), 0o755);
  symlinkSync('a.txt', join(w.root, 'link'));
  w.write({ '.env': 'KEY=1\n' });
  w.git('init', '-q', 'inner');
  w.write({ 'inner/i.txt': 'i\n' });
  mkdirSync(join(w.root, 'empty'));
  const start = w.state();
  write(w, 't1', '.env', 'KEY=2\n');
  write(w, 't1', 'inner/i.txt', 'changed\n');
  write(w, 't1', 'empty/e.txt', 'e\n');
  w.ok({ op: 'delete', path: 'link', kind: 'file', edit: edit('t1') });
  replace(w, 't1', 'run.sh', 'sh', 'bash');
  expect(w.undo().ok).toBe(true);
  expect(w.state()).toEqual(start);
  expect(existsSync(join(w.root, 'empty'))).toBe(true);
  write(w, 't2', '.env', 'KEY=3\n');
  w.write({ '.env': 'KEY=person\n' });
  expect(w.undo().output).toContain('.env changed since the task and stay as they are');
  expect(w.read('.env')).toBe('KEY=person\n');
});

test('a file that a direct edit made, and that was ignored only later, goes with undo all', () => {
  const w = repository();
  const start = w.state();
  write(w, 't1', '.env', 'KEY=1\n');
  write(w, 't1', '.gitignore', '.env\n');
  w.checkpoint('task');
  w.write({ 'b.txt': 'b\n', '.env': 'KEY=2\n' });
  w.conclude('task', { keepOnBranchOnly: true });
  expect(w.undo('all').ok).toBe(true);
  expect(w.state()).toMatchObject({ files: start.files });
});

test('a command that changed nothing is no step; one that committed, staged and switched is taken back with its commit', () => {
  const w = repository();
  const start = w.state();
  expect(command(w, 't1', () => w.git('status')).data).toMatchObject({ changed: false });
  expect(w.undo().ok).toBe(false);
  command(w, 't2', () => {
    w.write({ 'a.txt': 'two\n', 'b.txt': 'b\n' });
    w.git('add', 'b.txt');
    w.git('commit', '-q', '-m', 'By the command');
  });
  write(w, 't2', 'c.txt', 'c\n');
  expect(w.undo().output).toMatch(/^Undone \(1 edit and 1 command\): .*Its commit is taken back, too\./);
  expect(w.state()).toEqual(start);
  expect(command(w, 't3', () => w.git('checkout', '-q', '-b', 'other')).data).toMatchObject({ changed: true });
  expect(w.undo().ok).toBe(true);
  expect(w.state()).toMatchObject({ branch: start.branch });
});

test('a command that dropped an older stash, or told git to overlook a file, is a step', () => {
  const w = repository();
  for (const text of ['1\n', '2\n']) {
    w.write({ 'a.txt': text });
    w.git('stash', '-q');
  }
  const stashes = w.git('stash', 'list', '--format=%H');
  for (const work of [
    ['stash', 'drop', '-q', 'stash@{1}'],
    ['update-index', '--assume-unchanged', 'a.txt'],
  ]) {
    expect(command(w, `t${work.length}`, () => w.git(...work)).data).toMatchObject({ changed: true });
    expect(w.undo().ok).toBe(true);
    expect(w.git('stash', 'list', '--format=%H')).toBe(stashes);
    expect(w.git('ls-files', '-v', 'a.txt')).toBe('H a.txt');
  }
});

test('a command that removed the git folder is taken back with the edits before and after it', () => {
  const w = repository();
  const start = w.state();
  write(w, 't1', 'b.txt', 'b\n');
  command(w, 't1', () => w.write({ '.git': null }));
  write(w, 't1', 'c.txt', 'c\n');
  expect(w.undo('all').output).toContain('The git folder is whole again');
  expect(w.state()).toEqual(start);
});

test('a folder without a repository has undo for direct edits, too', () => {
  const w = new Workspace();
  made.push(w);
  w.write({ 'a.txt': 'one\n' });
  write(w, 't1', 'a.txt', 'two\n');
  write(w, 't1', 'b.txt', 'b\n');
  expect(w.undo().ok).toBe(true);
  expect(w.files()).toEqual({ 'a.txt': '- one\n' });
});

test('a folder that is deleted with large ignored files says what undo cannot bring back', () => {
  const w = repository({ 'p/a.txt': 'one\n', '.gitignore': 'node_modules/\n' });
  w.write({ 'p/node_modules/m/index.js': 'm\n' });
  const answer = w.ok({ op: 'delete', path: 'p', kind: 'folder', edit: { key: 'command-p', turn: 't1' } });
  expect(answer.output).toMatch(
    /^Deleted folder p \(2 files\)\. Gone, and not kept .*p\/node_modules\/.*"undo" cannot bring them back\.$/,
  );
  w.undo();
  expect(w.files()['p/a.txt']).toBe('- one\n');
});

test('an edit that is asked for again after a kill is one edit, and keeps what a person wrote between the attempts', () => {
  const w = repository({ 'a.txt': 'one\n' });
  const again = { key: 'edit-again', turn: 't1' };
  w.ok({ op: 'write', path: 'a.txt', content: 'two\n', edit: again });
  // as if the first attempt had been killed after it stored the states, and before it wrote
  w.write({ 'a.txt': 'person\n' });
  w.ok({ op: 'write', path: 'a.txt', content: 'two\n', edit: again });
  w.ok({ op: 'write', path: 'a.txt', content: 'two\n', edit: again });
  expect(w.undo().ok).toBe(true);
  expect(w.read('a.txt')).toBe('person\n');
  expect(w.undo().ok).toBe(false);
});
