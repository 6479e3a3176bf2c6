import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Workspace } from './program.ts';

const made: Workspace[] = [];
const keep = (workspace: Workspace): Workspace => {
  made.push(workspace);
  return workspace;
};
afterEach(() => {
  for (const workspace of made.splice(0)) workspace.remove();
});

/** A repository with history, branches, a tag, a stash, settings and unfinished work. */
function lived(): Workspace {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n', 'b.txt': 'b\n', '.gitignore': '*.log\n' }));
  w.git('tag', 'v1');
  w.git('branch', 'side');
  w.write({ 'a.txt': 'two\n' });
  w.git('commit', '-qam', 'Second');
  w.write({ 'b.txt': 'stashed\n' });
  w.git('stash', '-q');
  w.git('config', 'user.nickname', 'ada');
  w.write({ 'b.txt': 'unfinished\n', 'staged.txt': 'staged\n', 'wip.txt': 'wip\n' });
  w.git('add', 'staged.txt');
  return w;
}

/** What there is of the person's, down to the refs. A branch that keeps what a task did stays. */
const all = (w: Workspace) => ({
  ...w.state(),
  refs: w
    .git('for-each-ref', '--format=%(refname) %(objectname)')
    .split('\n')
    .filter((line) => !/^refs\/(heads\/)?fetch\//.test(line)),
  stash: w.git('stash', 'list', '--format=%s'),
});

const git = (w: Workspace, ...parts: string[]) => join(w.root, '.git', ...parts);
const loose = (w: Workspace): string[] =>
  readdirSync(git(w, 'objects'))
    .filter((name) => name.length === 2)
    .flatMap((name) => readdirSync(git(w, 'objects', name)).map((file) => git(w, 'objects', name, file)));

const HARM: Record<string, { by: (w: Workspace) => void; says: RegExp }> = {
  'removes the git folder': { by: (w) => rmSync(git(w), { recursive: true }), says: /removed the git folder/ },
  'puts a file in the place of the git folder': {
    by: (w) => {
      rmSync(git(w), { recursive: true });
      w.write({ '.git': 'gitdir: /nowhere\n' });
    },
    says: /removed the git folder/,
  },
  'puts a link in the place of the git folder': {
    by: (w) => {
      rmSync(git(w), { recursive: true });
      symlinkSync(w.side, git(w));
    },
    says: /removed the git folder/,
  },
  'makes a new repository in its place': {
    by: (w) => {
      rmSync(git(w), { recursive: true });
      w.git('init', '-q', '-b', 'main');
      w.git('add', '-A');
      w.git('commit', '-qm', 'All new');
    },
    says: /rewrote the history of main|deleted/,
  },
  'deletes all objects': { by: (w) => rmSync(git(w, 'objects'), { recursive: true }), says: /unusable/ },
  'overwrites objects': {
    by: (w) => {
      for (const file of loose(w)) {
        chmodSync(file, 0o644);
        writeFileSync(file, 'broken');
      }
    },
    says: /damaged|unusable/,
  },
  'commits, and breaks that commit': {
    by: (w) => {
      const before = new Set(loose(w));
      w.git('commit', '-qam', 'By the agent');
      for (const file of loose(w).filter((path) => !before.has(path))) rmSync(file);
    },
    says: /damaged|unusable|missing/,
  },
  'breaks the configuration': { by: (w) => writeFileSync(git(w, 'config'), '[core\nbroken'), says: /unusable/ },
  'breaks the index': { by: (w) => writeFileSync(git(w, 'index'), 'broken'), says: /unusable/ },
  'breaks HEAD': { by: (w) => writeFileSync(git(w, 'HEAD'), 'nonsense\n'), says: /unusable/ },
  'deletes branch, tag and stash': {
    by: (w) => {
      w.git('branch', '-qD', 'side');
      w.git('tag', '-d', 'v1');
      w.git('stash', 'drop', '-q');
    },
    says: /deleted refs\/heads\/side, refs\/tags\/v1;.* removed what was put aside before: WIP on main/,
  },
  'writes the history again and lets git forget the old one': {
    by: (w) => {
      w.git('commit', '-q', '--amend', '-m', 'Never was');
      w.git('reset', '-q', '--hard', 'HEAD~1');
      w.git('commit', '-q', '--allow-empty', '-m', 'Other');
      w.git('reflog', 'expire', '--expire=now', '--expire-unreachable=now', 'refs/heads/main', 'HEAD');
      w.git('gc', '-q', '--prune=now');
    },
    says: /rewrote the history of main/,
  },
  'plants a hook and a setting': {
    by: (w) => {
      mkdirSync(git(w, 'hooks'), { recursive: true });
      writeFileSync(git(w, 'hooks/post-checkout'), '#!/bin/sh\n');
      w.git('config', 'core.fsmonitor', '/bin/evil');
    },
    says: /changed files of git itself: config, hooks\/post-checkout/,
  },
};

test.each(Object.entries(HARM))('a task that %s says so, and is undone', (_, { by, says }) => {
  const w = lived();
  const before = all(w);
  const config = readFileSync(git(w, 'config'), 'utf8');
  w.checkpoint('t1');
  by(w);
  w.write({ 'a.txt': 'by the task\n', 'new.txt': 'n\n', 'wip.txt': null });
  expect(w.conclude('t1').output).toMatch(says);
  const undone = w.undo();
  expect(undone.output).toMatch(/^Undone: /);
  expect(all(w)).toEqual(before);
  expect(readFileSync(git(w, 'config'), 'utf8')).toBe(config);
  expect(existsSync(git(w, 'hooks/post-checkout'))).toBe(false);
  expect(w.git('log', '--format=%s')).toBe('Second\nFirst');
  expect(spawnSync('git', ['fsck', '--full'], { cwd: w.root, encoding: 'utf8' }).status).toBe(0);
  expect(w.undo('redo').ok).toBe(true);
  expect(w.read('a.txt')).toBe('by the task\n');
  expect(w.read('new.txt')).toBe('n\n');
});

test('nothing of a checkpoint is in the workspace, and no link that a task leaves leads git to it', () => {
  const w = lived();
  w.checkpoint('t1');
  expect(w.git('for-each-ref', 'refs/fetch')).toBe('');
  const store = readFileSync(join(w.side, 'sha1'), 'utf8');
  expect(store).toMatch(/^sha1-[0-9a-f]{32}$/);
  expect(w.ok({ op: 'git-status' }).output).not.toContain(store);
});

test('a task of the version before, with its checkpoint in the workspace, is concluded and undone', () => {
  const w = lived();
  w.checkpoint('t1');
  w.write({ 'a.txt': 'by the first task\n' });
  w.conclude('t1');
  const between = all(w);
  w.checkpoint('t2');
  w.write({ 'a.txt': 'by the second task\n' });
  // as that version left it: all under refs of the workspace, and nothing outside
  w.git('fetch', '-q', join(w.side, readFileSync(join(w.side, 'sha1'), 'utf8')), '+refs/fetch/*:refs/fetch/*');
  rmSync(w.side, { recursive: true });
  mkdirSync(w.side);
  expect(w.conclude('t2').commit).toBe(w.git('rev-parse', 'HEAD'));
  expect(w.undo().data).toMatchObject({ keys: ['t2'] });
  expect(all(w)).toEqual(between);
  expect(w.undo().data).toMatchObject({ keys: ['t1'] });
  expect(w.read('a.txt')).toBe('two\n');
});

test('ignored files that a task removes or changes are told and come back', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'a\n', '.gitignore': '.env\nbuild/\nnode_modules/\n*.log\n' }));
  w.write({
    '.env': 'SECRET=1\n',
    'build/out.js': 'o\n',
    'build/deep/x.js': 'x\n',
    'node_modules/x/index.js': 'x\n',
    'run.log': 'run\n',
    'kept.log': 'k\n',
  });
  const before = w.files();
  w.checkpoint('t1');
  w.git('clean', '-fdxq');
  w.write({ 'kept.log': 'k, and more\n', 'b.txt': 'b\n' });
  const changes = w.conclude('t1');
  expect(changes.files.map((file) => file.path)).toEqual(['b.txt']);
  expect(changes.note).toContain(
    'Ignored files are gone: .env, build/deep/x.js, build/out.js, run.log; "undo" brings them back.',
  );
  expect(changes.note).toContain('Ignored files were changed: kept.log');
  expect(changes.note).toContain('node_modules/. "undo" cannot bring them back');
  expect(w.undo().ok).toBe(true);
  const { 'node_modules/x/index.js': _, ...rest } = before;
  expect(w.files()).toEqual(rest);
});

test('an ignored file that the person changed since stays, and the rest is undone', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'a\n', '.gitignore': '*.log\n' }));
  w.write({ 'run.log': 'one\n' });
  w.checkpoint('t1');
  w.write({ 'run.log': 'two\n', 'a.txt': 'changed\n' });
  w.conclude('t1');
  w.write({ 'run.log': 'three\n' });
  const undone = w.undo();
  expect(undone).toMatchObject({ ok: true, output: expect.stringContaining('run.log changed since the task') });
  expect(w.read('run.log') + w.read('a.txt')).toBe('three\na\n');
});

test('an ignored file whose folder became an ignored file comes back once that is moved away', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'a\n', '.gitignore': 'build\n' }));
  w.write({ 'build/keys.txt': 'mine\n' });
  w.checkpoint('t1');
  w.write({ build: null });
  w.write({ build: 'by the task, or by what the person ran beside it\n' });
  expect(w.conclude('t1').output).toContain('Ignored files are gone: build/keys.txt');
  expect(w.undo().output).toContain(
    'build/keys.txt could not be put back, because build is in the way: move it away, and say "redo" and then "undo" again.',
  );
  expect(w.read('build')).toContain('by the task');
  w.write({ build: null });
  w.undo('redo');
  expect(w.undo().ok).toBe(true);
  expect(w.read('build/keys.txt')).toBe('mine\n');
});

test('a large ignored file is told by its name when it is gone', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'a\n', '.gitignore': '*.bin\n' }));
  w.write({ 'data.bin': Buffer.alloc(5 * 1024 * 1024) });
  expect((w.checkpoint('t1').data as { notes: string[] }).notes.join()).toContain('data.bin is large');
  w.write({ 'data.bin': null });
  expect(w.conclude('t1').note).toContain('data.bin. "undo" cannot bring them back');
});

test('a file that becomes tracked though it was ignored stays the person’s when the task is undone', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'a\n', '.gitignore': 'ignored.log\n' }));
  w.write({ 'ignored.log': 'mine\n' });
  const before = w.state();
  w.checkpoint('t1');
  w.write({ '.gitignore': '\n' });
  w.git('add', '-A');
  w.git('commit', '-qm', 'By the agent');
  w.conclude('t1');
  w.undo();
  expect(w.state()).toEqual(before);
});

test('empty folders and pipes come back', () => {
  const w = keep(Workspace.repository());
  mkdirSync(join(w.root, 'empty/deeper'), { recursive: true });
  mkdirSync(join(w.root, 'filled'));
  spawnSync('mkfifo', [join(w.root, 'pipe')]);
  w.checkpoint('t1');
  rmSync(join(w.root, 'empty'), { recursive: true });
  rmSync(join(w.root, 'pipe'));
  w.write({ 'filled/x.txt': 'x\n' });
  w.conclude('t1');
  expect(w.undo().ok).toBe(true);
  expect(lstatSync(join(w.root, 'empty/deeper')).isDirectory()).toBe(true);
  expect(readdirSync(join(w.root, 'filled'))).toEqual([]);
  expect(lstatSync(join(w.root, 'pipe')).isFIFO()).toBe(true);
});

test('changes inside of submodules and nested repositories are told and undone, with their commits', () => {
  const library = keep(Workspace.repository({ 'lib.txt': 'lib\n' }));
  const w = keep(Workspace.repository());
  w.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.root, 'lib');
  w.git('commit', '-qm', 'With a submodule');
  w.git('init', '-q', '-b', 'main', 'inner');
  w.write({ 'inner/x.txt': 'x\n', 'lib/more.txt': 'untracked\n' });
  w.git('-C', 'inner', 'add', '-A');
  w.git('-C', 'inner', 'commit', '-qm', 'Inner');
  const seen = () => ({
    ...w.state(),
    inner: w.git('-C', 'inner', 'log', '--format=%H'),
    lib: w.git('-C', 'lib', 'log', '--format=%H'),
  });
  const before = seen();
  w.checkpoint('t1');
  w.write({ 'lib/lib.txt': 'changed\n', 'inner/x.txt': 'changed\n', 'inner/y.txt': 'y\n' });
  w.git('-C', 'inner', 'commit', '-qam', 'By the agent');
  w.git('-C', 'lib', 'commit', '-qam', 'By the agent');
  const changes = w.conclude('t1');
  expect(changes.files.map((file) => file.path)).toEqual(
    expect.arrayContaining(['inner/x.txt', 'inner/y.txt', 'lib/lib.txt']),
  );
  expect(changes.note).toContain('Repositories inside of the workspace were changed');
  expect(w.undo().ok).toBe(true);
  expect(seen()).toEqual(before);
});

test('a repository inside of the workspace that a task removes comes back, and one that it makes goes', () => {
  const w = keep(Workspace.repository());
  w.git('init', '-q', '-b', 'main', 'inner');
  w.write({ 'inner/x.txt': 'x\n' });
  const before = w.files();
  w.checkpoint('t1');
  w.write({ inner: null });
  w.git('init', '-q', '-b', 'main', 'other');
  w.write({ 'other/y.txt': 'y\n' });
  w.conclude('t1');
  expect(w.undo().ok).toBe(true);
  expect(w.files()).toEqual(before);
  expect(w.git('-C', 'inner', 'status', '--porcelain')).toBe('?? x.txt');
  expect(existsSync(join(w.root, 'other/.git/HEAD'))).toBe(false);
});

test('a task in a worktree is undone by its name, and no other task is', () => {
  const w = lived();
  w.checkpoint('t1');
  w.write({ 'a.txt': 'by t1\n' });
  w.conclude('t1');
  const author = { name: 'T', email: 't@x' };
  w.ok({ op: 'worktree', action: 'add', key: 't2', author });
  w.checkpoint('t2', 't2');
  writeFileSync(git(w, 'fetch-worktrees/t2/c.txt'), 'c\n');
  const { commit } = w.conclude('t2', { worktree: 't2' });
  w.ok({ op: 'worktree', action: 'remove', key: 't2', author });
  const state = w.state();
  const undone = w.ask({ op: 'undo', what: 'one', author, task: 't2' });
  expect(undone).toMatchObject({
    ok: true,
    data: { keys: ['t2'] },
    output: expect.stringContaining('refs/heads/fetch/t2'),
  });
  expect(w.git('for-each-ref', 'refs/heads/fetch')).toBe('');
  expect(w.state()).toEqual(state);
  expect(w.ask({ op: 'undo', what: 'one', author, task: 't2' })).toMatchObject({
    ok: false,
    output: expect.stringContaining('undone already'),
  });
  expect(w.undo('redo').ok).toBe(true);
  expect(w.git('rev-parse', 'fetch/t2')).toBe(commit);
  w.git('stash', '-q');
  w.git('merge', '-q', '-m', 'Merge', 'fetch/t2');
  expect(w.ask({ op: 'undo', what: 'one', author, task: 't2' })).toMatchObject({
    ok: false,
    output: expect.stringContaining('refs/heads/main'),
  });
});

describe('a task in a worktree that', () => {
  const author = { name: 'T', email: 't@x' };
  const files = (w: Workspace) => git(w, 'fetch-worktrees/t1');

  /** A workspace with something staged and something not, in whose worktree a task has written a file. */
  function besides(): { w: Workspace; state: unknown } {
    const w = lived();
    w.write({ 'staged.txt': 'staged alone\n' });
    w.git('add', 'staged.txt');
    w.write({ 'staged.txt': 'and changed\n' });
    const state = w.state();
    w.ok({ op: 'worktree', action: 'add', key: 't1', author });
    w.checkpoint('t1', 't1');
    writeFileSync(join(files(w), 'new.txt'), 'new\n');
    return { w, state };
  }
  const ended = (w: Workspace) => {
    const changes = w.conclude('t1', { worktree: 't1' });
    w.ok({ op: 'worktree', action: 'remove', key: 't1', author });
    return changes;
  };

  test('removes the git folder of the workspace has it made again with history, branches, HEAD and index, and the report says so', () => {
    const { w, state } = besides();
    rmSync(git(w, '.'), { recursive: true });
    expect(ended(w)).toMatchObject({
      commit: null,
      note: expect.stringContaining('it was restored as it was last saved'),
    });
    expect(w.state()).toEqual(state);
    expect(w.git('show', ':staged.txt')).toBe('staged alone');
    expect(w.git('fsck', '--no-dangling')).toBe('');
  });

  test('removes what git knows of its worktree keeps what it did', () => {
    const { w, state } = besides();
    rmSync(git(w, 'worktrees'), { recursive: true });
    rmSync(join(files(w), '.git'));
    const { commit } = ended(w);
    expect(w.git('show', `${commit}:new.txt`)).toBe('new');
    expect(w.git('rev-parse', 'fetch/t1')).toBe(commit);
    expect(w.ask({ op: 'undo', what: 'one', author, task: 't1' }).ok).toBe(true);
    expect(w.state()).toEqual(state);
  });

  test('removes its own files ends without changes, and the report says that they are gone', () => {
    const { w, state } = besides();
    rmSync(files(w), { recursive: true });
    expect(ended(w)).toMatchObject({ commit: null, files: [], note: expect.stringContaining('is gone') });
    expect(w.state()).toEqual(state);
  });
});

test('a kept result that cannot be read stands in the way of neither the end nor undo', () => {
  const w = lived();
  const before = all(w);
  w.checkpoint('t1');
  w.write({ '名.txt': 'n\n' });
  w.conclude('t1');
  // as the version before wrote such a name
  const broken = spawnSync('git', ['hash-object', '-w', '--stdin'], {
    cwd: join(w.side, readFileSync(join(w.side, 'sha1'), 'utf8')),
    input: '{"note":"\u0001","tip"',
    encoding: 'utf8',
    env: { ...process.env, GIT_DIR: '.' },
  }).stdout.trim();
  w.kept('update-ref', 'refs/fetch/t1/result', broken);
  expect(w.conclude('t1').files.map((file) => file.path)).toEqual(['名.txt']);
  w.kept('update-ref', 'refs/fetch/t1/result', broken);
  expect(w.undo().ok).toBe(true);
  expect(all(w)).toEqual(before);
});
