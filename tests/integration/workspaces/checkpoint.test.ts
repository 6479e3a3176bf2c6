import { chmodSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { author, Workspace } from './program.ts';

const made: Workspace[] = [];
const keep = (workspace: Workspace): Workspace => {
  made.push(workspace);
  return workspace;
};
afterEach(() => {
  for (const workspace of made.splice(0)) workspace.remove();
});
/** Waits for the beginning of a second, by the clock that files get their times from. */
function nextSecond(): number {
  const next = Math.floor(Date.now() / 1000) + 1;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, next * 1000 - Date.now() + 5);
  return next;
}
const lines = (...numbers: Array<number | string>) => numbers.map((n) => `line ${n}\n`).join('');

test('a task on a dirty tree is committed alone; staged, unstaged and untracked work stays as it was', () => {
  const w = keep(
    Workspace.repository({
      'a.txt': lines(1, 2, 3, 4, 5, 6, 7, 8, 9),
      'b.txt': 'b\n',
      '.gitignore': '*.log\nsecret/\n',
    }),
  );
  w.write({
    'b.txt': 'b, unfinished\n',
    'staged.txt': 'staged\n',
    'notes.txt': 'untracked\n',
    'run.log': 'ignored\n',
    'secret/key': 'ignored\n',
  });
  w.git('add', 'staged.txt');
  w.write({ 'staged.txt': 'staged, and changed again\n' });
  const before = w.state();
  expect(w.checkpoint('t1').data).toMatchObject({ branch: 'main', kept: 'workspace', dirty: 3 });
  expect(w.state()).toEqual(before);

  w.write({
    'a.txt': lines(1, 2, 3, 4, 'five', 6, 7, 8, 9),
    'src/new.ts': 'export {};\n',
    'run.log': 'changed by the task\n',
  });
  const after = w.files();
  const changes = w.conclude('t1');
  expect(changes.files).toEqual([
    { path: 'a.txt', status: 'modified', added: 1, removed: 1 },
    { path: 'src/new.ts', status: 'added', added: 1, removed: 0 },
  ]);
  expect(w.files()).toEqual(after);
  expect(w.git('show', '--name-only', '--format=%an|%s', 'HEAD').split('\n')).toEqual([
    'Test Person|Task t1',
    '',
    'a.txt',
    'src/new.ts',
  ]);
  expect(w.git('rev-list', '--count', 'HEAD')).toBe('2');
  expect(w.git('status', '--porcelain').split('\n').sort()).toEqual([' M b.txt', '?? notes.txt', 'AM staged.txt']);
  expect(w.git('show', ':staged.txt')).toBe('staged');

  expect(w.undo().output).toMatch(/Its commit is taken back/);
  expect(w.state()).toEqual(before);
  expect(w.undo('redo').ok).toBe(true);
  expect(w.files()).toEqual(after);
  expect(w.git('rev-parse', 'HEAD')).toBe(changes.commit);
});

test('a second checkpoint or conclusion with one key changes nothing', () => {
  const w = keep(Workspace.repository());
  w.checkpoint('t1');
  const ref = w.kept('rev-parse', 'refs/fetch/t1/before');
  w.write({ 'a.txt': 'two\n' });
  w.checkpoint('t1');
  expect(w.kept('rev-parse', 'refs/fetch/t1/before')).toBe(ref);
  const first = w.conclude('t1');
  w.write({ 'a.txt': 'three\n' });
  expect(w.conclude('t1')).toEqual(first);
  expect(w.git('rev-list', '--count', 'HEAD')).toBe('2');
});

test('a task that worked on top of uncommitted lines is not committed; its state is on a branch of its own', () => {
  const w = keep(Workspace.repository({ 'a.txt': lines(1, 2, 3) }));
  w.write({ 'a.txt': lines(1, 'two', 3), 'mine.txt': 'mine\n' });
  const before = w.state();
  w.checkpoint('t1');
  w.write({ 'a.txt': lines(1, 'two, and more', 3), 'new.txt': 'new\n' });
  const after = w.files();
  const changes = w.conclude('t1');
  expect(changes.commit).toBeNull();
  expect(changes.keptOn).toBe('fetch/t1');
  expect(changes.note).toContain('a.txt');
  expect(w.files()).toEqual(after);
  expect(w.git('rev-list', '--count', 'HEAD')).toBe('1');
  expect(w.git('show', 'fetch/t1:a.txt')).toBe(lines(1, 'two, and more', 3).trimEnd());
  expect(w.git('show', 'fetch/t1:new.txt')).toBe('new');
  expect(w.undo().ok).toBe(true);
  expect(w.state()).toEqual(before);
});

test('uncommitted lines elsewhere in a file that the task changed stay uncommitted', () => {
  const w = keep(Workspace.repository({ 'a.txt': lines(1, 2, 3, 4, 5, 6, 7, 8, 9) }));
  w.write({ 'a.txt': lines('one', 2, 3, 4, 5, 6, 7, 8, 9) });
  w.checkpoint('t1');
  w.write({ 'a.txt': lines('one', 2, 3, 4, 5, 6, 7, 8, 'nine') });
  expect(w.conclude('t1').commit).not.toBeNull();
  expect(w.git('show', 'HEAD:a.txt')).toBe(lines(1, 2, 3, 4, 5, 6, 7, 8, 'nine').trimEnd());
  expect(w.git('diff', '--stat')).toContain('1 insertion(+), 1 deletion(-)');
});

test('commits of the agent itself stay, and only the rest is committed', () => {
  const w = keep(Workspace.repository());
  w.write({ 'wip.txt': 'wip\n' });
  const before = w.state();
  w.checkpoint('t1');
  w.write({ 'b.txt': 'b\n' });
  w.git('add', 'b.txt');
  w.git('commit', '-q', '-m', 'By the agent');
  w.write({ 'c.txt': 'c\n' });
  const changes = w.conclude('t1');
  expect(changes.files.map((file) => file.path)).toEqual(['b.txt', 'c.txt']);
  expect(w.git('log', '--format=%s').split('\n')).toEqual(['Task t1', 'By the agent', 'First']);
  expect(w.git('status', '--porcelain')).toBe('?? wip.txt');
  w.undo();
  expect(w.state()).toEqual(before);
});

test('an agent that committed everything, the uncommitted work of the person included, is undone to that work', () => {
  const w = keep(Workspace.repository());
  w.write({ 'a.txt': 'mine\n', 'wip.txt': 'wip\n' });
  const before = w.state();
  w.checkpoint('t1');
  w.write({ 'b.txt': 'b\n' });
  w.git('add', '-A');
  w.git('commit', '-q', '-m', 'Everything');
  expect(w.conclude('t1').commit).toBe(w.git('rev-parse', 'HEAD'));
  w.undo();
  expect(w.state()).toEqual(before);
});

test('a task that switched the branch is committed there, which is said, and undone to the branch before', () => {
  const w = keep(Workspace.repository());
  const before = w.state();
  w.checkpoint('t1');
  w.git('switch', '-q', '-c', 'feature');
  w.write({ 'b.txt': 'b\n' });
  const changes = w.conclude('t1');
  expect(changes).toMatchObject({ branch: 'feature', commit: w.git('rev-parse', 'feature') });
  expect(changes.note).toContain('switched from main to feature');
  w.undo();
  expect(w.state()).toEqual(before);
  expect(w.git('rev-parse', 'feature')).toBe(changes.commit);
  w.undo('redo');
  expect(w.git('symbolic-ref', 'HEAD')).toBe('refs/heads/feature');
  expect(w.read('b.txt')).toBe('b\n');
});

test('the changes of a failed task are on a branch of their own only, and can be undone', () => {
  const w = keep(Workspace.repository());
  w.write({ 'wip.txt': 'wip\n' });
  const before = w.state();
  w.checkpoint('t1');
  w.write({ 'a.txt': 'half done\n' });
  const changes = w.conclude('t1', { keepOnBranchOnly: true });
  expect(changes).toMatchObject({ commit: null, keptOn: 'fetch/t1' });
  expect(w.git('diff', '--name-only', 'main', 'fetch/t1')).toBe('a.txt');
  expect(w.git('rev-parse', 'main')).toBe(before.head);
  w.undo();
  expect(w.state()).toEqual(before);
});

test('a repository without commits gets its first one, and undo takes it away again', () => {
  const w = keep(new Workspace());
  w.git('init', '-q', '-b', 'main');
  w.write({ 'mine.txt': 'mine\n' });
  const before = w.state();
  expect(w.checkpoint('t1').data).toMatchObject({ head: null, branch: 'main' });
  w.write({ 'a.txt': 'a\n' });
  const changes = w.conclude('t1');
  expect(changes.commit).not.toBeNull();
  expect(w.git('show', '--name-only', '--format=', 'HEAD')).toBe('a.txt');
  expect(w.git('status', '--porcelain')).toBe('?? mine.txt');
  w.undo();
  expect(w.state()).toEqual(before);
  w.undo('redo');
  expect(w.git('rev-parse', 'main')).toBe(changes.commit);
});

test('a repository with nothing in it at all can be worked in, and undone to nothing', () => {
  const w = keep(new Workspace());
  w.git('init', '-q', '-b', 'main');
  expect(w.checkpoint('t1').data).toMatchObject({ head: null, branch: 'main', dirty: 0 });
  w.write({ 'a.txt': 'a\n' });
  expect(w.conclude('t1').files).toMatchObject([{ path: 'a.txt', status: 'added' }]);
  expect(w.git('rev-list', '--count', 'HEAD')).toBe('1');
  w.undo();
  expect(w.files()).toEqual({});
});

test('a change in the second of the checkpoint that leaves the size as it was is seen', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n' }));
  // a checkpoint may be over only in the next second, which shows nothing: then once more
  for (let attempt = 1, shown = false; !shown && attempt <= 5; attempt += 1) {
    const key = `t${attempt}`;
    const second = nextSecond();
    w.write({ 'a.txt': `${attempt}aa\n` });
    w.checkpoint(key);
    w.write({ 'a.txt': `${attempt}bb\n` });
    shown = Math.floor(Date.now() / 1000) === second;
    // by then git would take a file of an older second for unchanged
    nextSecond();
    expect(w.conclude(key).files).toEqual([{ path: 'a.txt', status: 'modified', added: 1, removed: 1 }]);
  }
});

test('one process answers one operation after the other, each as one of its own would', () => {
  const w = keep(Workspace.repository());
  const [first, second, third] = w.serve([
    { op: 'checkpoint', key: 't1', author },
    { op: 'read', path: 'missing.txt', from: 1, lines: 1 },
    { op: 'conclude', key: 't1', message: 'Task t1', author, keepOnBranchOnly: false },
  ]);
  expect(first).toMatchObject({ ok: true, data: { branch: 'main', dirty: 0 } });
  expect(second).toMatchObject({ ok: false });
  expect(third).toMatchObject({ ok: true, data: { files: [], commit: null } });
});

test('on a detached HEAD the commit is kept by a branch as well', () => {
  const w = keep(Workspace.repository());
  w.git('checkout', '-q', '--detach');
  const before = w.state();
  expect(w.checkpoint('t1').data).toMatchObject({ branch: null });
  w.write({ 'a.txt': 'two\n' });
  const changes = w.conclude('t1');
  expect(changes).toMatchObject({ branch: null, keptOn: 'fetch/t1', commit: w.git('rev-parse', 'HEAD') });
  expect(w.git('rev-parse', 'fetch/t1')).toBe(changes.commit);
  w.undo();
  expect(w.state()).toEqual(before);
});

test('a folder that is no repository stays none; its state is kept beside it', () => {
  const w = keep(new Workspace());
  w.write({ 'a.txt': 'a\n', 'node_modules/x/index.js': 'x\n' });
  const before = w.files();
  expect(w.checkpoint('t1').data).toMatchObject({ kept: 'beside', head: null });
  w.write({ 'a.txt': 'changed\n', 'b/c.txt': 'c\n' });
  const after = w.files();
  const changes = w.conclude('t1');
  expect(changes).toMatchObject({ commit: null, files: [{ path: 'a.txt' }, { path: 'b/c.txt' }] });
  expect(existsSync(join(w.root, '.git'))).toBe(false);
  w.undo();
  expect(w.files()).toEqual(before);
  w.undo('redo');
  expect(w.files()).toEqual(after);
  w.undo();
  expect(w.files()).toEqual(before);
});

test('a folder in which the task made a repository is undone as well', () => {
  const w = keep(new Workspace());
  w.write({ 'a.txt': 'a\n' });
  w.checkpoint('t1');
  w.git('init', '-q', '-b', 'main');
  w.write({ 'a.txt': 'changed\n' });
  w.git('add', '-A');
  w.git('commit', '-q', '-m', 'x');
  expect(w.conclude('t1').files).toHaveLength(1);
  w.undo();
  expect(w.read('a.txt')).toBe('a\n');
});

test('during a merge nothing is committed or unstaged, and the changes are on a branch', () => {
  const w = keep(Workspace.repository());
  w.git('switch', '-q', '-c', 'other');
  w.write({ 'a.txt': 'theirs\n' });
  w.git('commit', '-qam', 'theirs');
  w.git('switch', '-q', 'main');
  w.write({ 'a.txt': 'ours\n' });
  w.git('commit', '-qam', 'ours');
  expect(() => w.git('merge', 'other')).toThrow();
  w.checkpoint('t1');
  w.write({ 'b.txt': 'b\n' });
  const before = w.state();
  const changes = w.conclude('t1');
  expect(changes).toMatchObject({ commit: null, keptOn: 'fetch/t1' });
  expect(changes.note).toContain('merge is in progress');
  expect(w.state()).toEqual(before);
  expect(w.git('show', 'fetch/t1:b.txt')).toBe('b');
  expect(w.undo()).toMatchObject({ ok: false });
  expect(w.state()).toEqual(before);
});

test('changes that the person made since are kept by undo, in other files and in other lines of one', () => {
  const w = keep(Workspace.repository({ 'a.txt': lines(1, 2, 3, 4, 5, 6, 7, 8, 9), 'b.txt': 'b\n' }));
  w.checkpoint('t1');
  w.write({ 'a.txt': lines(1, 'two', 3, 4, 5, 6, 7, 8, 9) });
  w.conclude('t1');
  w.write({ 'a.txt': lines(1, 'two', 3, 4, 5, 6, 7, 8, 'nine'), 'b.txt': 'mine\n', 'c.txt': 'mine\n' });
  expect(w.undo().ok).toBe(true);
  expect(w.read('a.txt')).toBe(lines(1, 2, 3, 4, 5, 6, 7, 8, 'nine'));
  expect(w.read('b.txt') + w.read('c.txt')).toBe('mine\nmine\n');
  w.undo('redo');
  expect(w.read('a.txt')).toBe(lines(1, 'two', 3, 4, 5, 6, 7, 8, 'nine'));
});

test('an undo that would lose changes of the person is refused by name, and changes nothing', () => {
  const w = keep(Workspace.repository());
  w.checkpoint('t1');
  w.write({ 'a.txt': 'by the task\n', 'b.txt': 'b\n' });
  w.conclude('t1');
  w.write({ 'a.txt': 'by the person\n' });
  const before = w.state();
  const refused = w.undo();
  expect(refused.ok).toBe(false);
  expect(refused.output).toContain('a.txt');
  expect(w.state()).toEqual(before);
});

test('a file of the person that stands where undo would put one back is not overwritten, even when it is ignored', () => {
  const w = keep(Workspace.repository({ 'a.log': 'tracked\n', '.gitignore': '' }));
  w.checkpoint('t1');
  w.write({ 'a.log': null, '.gitignore': '*.log\n' });
  w.conclude('t1');
  w.write({ 'a.log': 'precious, and ignored\n' });
  expect(w.undo()).toMatchObject({ ok: false });
  expect(w.read('a.log')).toBe('precious, and ignored\n');
});

test('files that were ignored before are not committed when the task stops ignoring them', () => {
  const w = keep(Workspace.repository({ '.gitignore': '.env\nnode_modules/\n', 'a.txt': 'a\n' }));
  w.write({ '.env': 'SECRET=1\n', 'node_modules/x.js': 'x\n' });
  w.checkpoint('t1');
  w.write({ '.gitignore': '\n' });
  expect(w.conclude('t1').files.map((file) => file.path)).toEqual(['.gitignore']);
  expect(w.git('ls-tree', '-r', '--name-only', 'HEAD').split('\n')).toEqual(['.gitignore', 'a.txt']);
  w.undo();
  expect(w.read('.env')).toBe('SECRET=1\n');
});

test('after later commits of the person a task is taken back by a further commit', () => {
  const w = keep(Workspace.repository());
  w.checkpoint('t1');
  w.write({ 'b.txt': 'b\n' });
  w.conclude('t1');
  w.write({ 'c.txt': 'c\n' });
  w.git('add', 'c.txt');
  w.git('commit', '-q', '-m', 'Later');
  expect(w.undo().data).toMatchObject({ commits: 'reverted' });
  expect(w.git('log', '--format=%s').split('\n')).toEqual(['Revert "Task t1"', 'Later', 'Task t1', 'First']);
  expect(Object.keys(w.files())).toEqual(['a.txt', 'c.txt']);
  expect(w.git('status', '--porcelain')).toBe('');
  w.undo('redo');
  expect(w.git('log', '--format=%s', '-1')).toBe('Later');
  expect(Object.keys(w.files())).toEqual(['a.txt', 'b.txt', 'c.txt']);
});

test('a commit that was pushed is taken back by a further commit', () => {
  const w = keep(Workspace.repository());
  w.git('init', '-q', '--bare', join(w.base, 'remote.git'));
  w.git('remote', 'add', 'origin', join(w.base, 'remote.git'));
  w.checkpoint('t1');
  w.write({ 'b.txt': 'b\n' });
  w.conclude('t1');
  w.git('push', '-q', '-u', 'origin', 'main');
  expect(w.undo().data).toMatchObject({ commits: 'reverted' });
  expect(w.git('status', '--porcelain', '--branch')).toContain('[ahead 1]');
  expect(Object.keys(w.files())).toEqual(['a.txt']);
});

test('undo all goes back before the first task over commits of the person in between, and redo returns', () => {
  const w = keep(Workspace.repository());
  w.write({ 'wip.txt': 'wip\n' });
  for (const key of ['t1', 't2']) {
    w.checkpoint(key);
    w.write({ [`${key}.txt`]: `${key}\n`, 'a.txt': `by ${key}\n` });
    w.conclude(key);
    if (key === 't1') {
      w.write({ 'own.txt': 'own\n' });
      w.git('add', 'own.txt');
      w.git('commit', '-q', '-m', 'Own');
    }
  }
  const after = w.state();
  expect(w.undo('all').data).toMatchObject({ keys: ['t2', 't1'], commits: 'reverted' });
  expect(w.files()).toEqual({ 'a.txt': '- one\n', 'own.txt': '- own\n', 'wip.txt': '- wip\n' });
  expect(w.git('status', '--porcelain')).toBe('?? wip.txt');
  w.undo('redo');
  expect(w.state()).toEqual(after);
  expect(w.undo().data).toMatchObject({ keys: ['t2'], commits: 'moved' });
  expect(w.undo().data).toMatchObject({ keys: ['t1'] });
  expect(w.undo().ok).toBe(false);
});

test('one key of an undo counts once', () => {
  const w = keep(Workspace.repository());
  for (const key of ['t1', 't2']) {
    w.checkpoint(key);
    w.write({ [key]: key });
    w.conclude(key);
  }
  const first = w.undo('one', 'call-1');
  expect(w.undo('one', 'call-1')).toEqual(first);
  expect(Object.keys(w.files())).toEqual(['a.txt', 't1']);
});

test('permissions, links, odd names and bytes come back exactly', () => {
  const w = keep(Workspace.repository());
  w.write({
    'run.sh': '#!/bin/sh\n',
    'new\nline.txt': 'n\n',
    'tab\t"quote".txt': 't\n',
    'crlf.txt': 'a\r\nb\r\n',
    'bin.dat': Buffer.from([0, 255, 10, 13, 0]),
    'dir/deep/x': 'x',
  });
  writeFileSync(Buffer.concat([Buffer.from(`${w.root}/bad-`), Buffer.from([0xff, 0xfe])]), 'bytes');
  chmodSync(join(w.root, 'run.sh'), 0o755);
  chmodSync(join(w.root, 'crlf.txt'), 0o600);
  symlinkSync('run.sh', join(w.root, 'link'));
  symlinkSync('/etc/passwd', join(w.root, 'out'));
  const before = w.files();
  w.checkpoint('t1');
  for (const path of Object.keys(before))
    rmSync(Buffer.concat([Buffer.from(`${w.root}/`), Buffer.from(path, 'latin1')]));
  w.write({ 'dir/deep': null });
  w.write({ 'dir/deep': 'a file where a folder was' });
  w.conclude('t1');
  expect(w.undo().ok).toBe(true);
  expect(w.files()).toEqual(before);
  w.undo('redo');
  expect(w.files()).toEqual({ 'dir/deep': '- a file where a folder was' });
});

test('with line endings that git converts, files come back byte for byte and commits hold what git would commit', () => {
  const w = keep(
    Workspace.repository({ '.gitattributes': '*.txt text eol=crlf\n', 'a.txt': 'one\r\ntwo\r\n', 'b.txt': 'x\r\n' }),
  );
  expect(w.git('status', '--porcelain')).toBe('');
  const before = w.files();
  w.checkpoint('t1');
  w.write({ 'a.txt': 'one\r\n2\r\n' });
  expect(w.conclude('t1').commit).not.toBeNull();
  expect(w.git('cat-file', 'blob', 'HEAD:a.txt')).toBe('one\n2');
  expect(w.git('show', '--stat', '--format=', 'HEAD')).toContain('1 insertion(+), 1 deletion(-)');
  expect(w.git('status', '--porcelain')).toBe('');
  w.undo();
  expect(w.files()).toEqual(before);
  expect(w.git('status', '--porcelain')).toBe('');
});

test('a stale lock of the index keeps nothing from being concluded: the changes are on a branch', () => {
  const w = keep(Workspace.repository());
  w.checkpoint('t1');
  w.write({ 'a.txt': 'two\n' });
  writeFileSync(join(w.root, '.git/index.lock'), '');
  const changes = w.conclude('t1');
  expect(changes).toMatchObject({ commit: null, keptOn: 'fetch/t1' });
  expect(changes.note).toContain('index.lock');
  expect(w.git('show', 'fetch/t1:a.txt')).toBe('two');
});

test('work in a worktree is committed on its branch, apart from the workspace', () => {
  const w = keep(Workspace.repository());
  w.write({ 'wip.txt': 'wip\n' });
  const before = w.state();
  const added = w.ok({ op: 'worktree', action: 'add', key: 't1', author: { name: 'T', email: 't@x' } });
  expect(added.data).toEqual({
    path: '.git/fetch-worktrees/t1',
    branch: 'fetch/t1',
    commit: w.git('rev-parse', 'HEAD'),
  });
  const folder = join(w.root, '.git/fetch-worktrees/t1');
  w.checkpoint('t1', 't1');
  writeFileSync(join(folder, 'b.txt'), 'b\n');
  const changes = w.conclude('t1', { worktree: 't1' });
  expect(changes).toMatchObject({ branch: 'fetch/t1', files: [{ path: 'b.txt' }] });
  expect(w.git('rev-parse', 'fetch/t1')).toBe(changes.commit);
  expect(w.git('-C', folder, 'status', '--porcelain')).toBe('');
  expect(w.undo()).toMatchObject({ ok: false });
  writeFileSync(join(folder, 'left.txt'), 'left\n');
  const removed = w.ok({ op: 'worktree', action: 'remove', key: 't1', author: { name: 'T', email: 't@x' } });
  expect(removed.data).toEqual({ branch: 'fetch/t1' });
  expect(w.git('show', 'refs/fetch/t1/left:left.txt')).toBe('left');
  expect(w.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(w.state()).toEqual(before);
});

test('a worktree begins at the commit that is named, wherever HEAD is', () => {
  const w = keep(Workspace.repository());
  const first = w.git('rev-parse', 'HEAD');
  w.git('commit', '--allow-empty', '-qm', 'second');
  const add = (key: string, from?: string) =>
    w.ask({ op: 'worktree', action: 'add', key, author: { name: 'T', email: 't@x' }, ...(from && { from }) });
  expect(add('t1', first)).toMatchObject({ ok: true, data: { commit: first } });
  expect(w.git('rev-parse', 'fetch/t1')).toBe(first);
  expect(add('t2')).toMatchObject({ ok: true, data: { commit: w.git('rev-parse', 'HEAD') } });
  for (const gone of ['0'.repeat(40), 'HEAD', '--help']) expect(add('t3', gone)).toMatchObject({ ok: false });
});

test.each([
  ['true', '\r\n', '\r\n'],
  ['true', '\n', '\r\n'],
  ['input', '\r\n', '\r\n'],
])(
  'a file with converted line ends that the person changed too is merged: autocrlf %s, committed with %j',
  (autocrlf, committed, onDisk) => {
    const text = (end: string, ...words: string[]) => words.map((word) => `${word}${end}`).join('');
    const w = keep(Workspace.repository({ 'a.txt': text(committed, 'one', 'two', 'three', 'four', 'five') }));
    w.git('config', 'core.autocrlf', autocrlf);
    w.write({ 'a.txt': text(onDisk, 'mine', 'two', 'three', 'four', 'five') });
    const before = w.state();
    w.checkpoint('t1');
    w.write({ 'a.txt': text(onDisk, 'mine', 'two', 'three', 'four', 'fifth') });
    expect(w.conclude('t1')).toMatchObject({ commit: w.git('rev-parse', 'HEAD'), keptOn: null });
    expect(w.git('show', 'HEAD:a.txt')).toBe(text(committed, 'one', 'two', 'three', 'four', 'fifth').trimEnd());
    expect(w.undo().ok).toBe(true);
    expect(w.state()).toEqual(before);
  },
);

test('a task whose changes cannot be committed is saved all the same: its files are told, and undone', () => {
  const w = keep(Workspace.repository());
  const before = w.state();
  w.checkpoint('t1');
  w.write({ 'a.txt': 'two\n' });
  const conclude = { op: 'conclude', key: 't1', message: 'Task t1', author, keepOnBranchOnly: false } as const;
  const answer = w.ok({ ...conclude, uncommitted: 'git cat-file: bad file\nand more' });
  expect(answer.data).toMatchObject({ commit: null, files: [{ path: 'a.txt', status: 'modified' }] });
  expect(answer.output).toMatch(/could not be committed: git cat-file: bad file\. .* say "undo"/);
  expect(w.git('rev-list', '--count', 'HEAD')).toBe('1');
  expect(w.undo().ok).toBe(true);
  expect(w.state()).toEqual(before);
});

test('a commit without a subject of its own says what changed', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n', 'b.txt': 'b\n'.repeat(20) }));
  w.checkpoint('t1');
  rmSync(join(w.root, 'b.txt'));
  w.write({ 'src/new.ts': 'x\n', 'a.txt': 'two\n', 'c.txt': 'b\n'.repeat(20) });
  w.conclude('t1', { message: '\n\nmake it better\n\nFetch-Task: t1' });
  expect(w.git('log', '-1', '--format=%B').trim()).toBe(
    'Add src/new.ts, update a.txt, rename b.txt to c.txt\n\nmake it better\n\nFetch-Task: t1',
  );
});

test('commits of an agent that left the branch of its worktree are on that branch, and undone with it', () => {
  const w = keep(Workspace.repository());
  w.ok({ op: 'worktree', action: 'add', key: 't1', author });
  w.checkpoint('t1', 't1');
  const folder = join(w.root, '.git/fetch-worktrees/t1');
  const inside = (...args: string[]) => w.git('-C', folder, ...args);
  inside('checkout', '-q', '--detach');
  for (const name of ['b.txt', 'c.txt']) {
    writeFileSync(join(folder, name), `${name}\n`);
    inside('add', '-A');
    inside('commit', '-q', '-m', `Add ${name}`);
  }
  const tip = inside('rev-parse', 'HEAD');
  const changes = w.conclude('t1', { worktree: 't1' });
  expect(changes.files.map(({ path }) => path)).toEqual(['b.txt', 'c.txt']);
  expect(changes).toMatchObject({ commit: tip, branch: null, keptOn: 'fetch/t1' });
  expect(changes.note).toContain('branch fetch/t1 keeps its commits');
  w.ok({ op: 'worktree', action: 'remove', key: 't1', author });
  expect(w.git('rev-parse', 'fetch/t1')).toBe(tip);
  expect(w.git('log', '--format=%s', 'fetch/t1').split('\n')).toEqual(['Add c.txt', 'Add b.txt', 'First']);
  expect(w.ok({ op: 'undo', what: 'one', author, task: 't1' }).ok).toBe(true);
  expect(w.git('branch', '--list')).toBe('* main');
  expect(w.undo('redo').ok).toBe(true);
  expect(w.git('rev-parse', 'fetch/t1')).toBe(tip);
});

test.each([
  ['a detached HEAD', '--detach'],
  ['a branch of its own', '-b made'],
])('commits that an agent made on %s and went away from are named, and git does not delete them', (_, where) => {
  for (const worktree of [undefined, 't1']) {
    const w = keep(Workspace.repository());
    if (worktree) w.ok({ op: 'worktree', action: 'add', key: worktree, author });
    w.checkpoint('t1', worktree);
    const from = worktree ? 'fetch/t1' : 'main';
    const commits = "for f in b c; do echo $f > $f.txt; git add -A; git commit -qm 'Add '$f; done";
    w.script(
      `cd ${worktree ? '.git/fetch-worktrees/t1' : '.'}; git checkout -q ${where}; ${commits}; git checkout -q ${from}`,
    );
    const { files, output } = w.conclude('t1', worktree ? { worktree } : {});
    expect(files).toEqual([]);
    const [, branch] = /(?:also committed to|; branch) (\S+?)[, ]/.exec(output) ?? [];
    if (worktree) w.ok({ op: 'worktree', action: 'remove', key: worktree, author });
    w.script('git reflog expire --expire=now --all; git gc -q --prune=now');
    expect(w.git('log', '--format=%s', branch!).split('\n')).toEqual(['Add c', 'Add b', 'First']);
  }
});

test('what a task put aside in a stash is named, also beside older ones, and so is a stash that it removed', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n' }));
  for (const title of ['mine', 'mine, too']) w.script(`echo ${title} > a.txt; git stash push -qm '${title}'`);
  w.checkpoint('t1');
  w.script('echo agent > a.txt; git stash push -qm "half done ü"; git stash drop -q stash@{2}');
  const { note } = w.conclude('t1');
  expect(note).toBe(
    'The task put changes aside: On main: half done ü. "git stash pop" brings them back, and "undo" removes them. ' +
      'The task removed what was put aside before: On main: mine; "undo" brings it back.',
  );
  expect(w.undo().ok).toBe(true);
  expect(w.git('stash', 'list', '--format=%gs').split('\n')).toEqual(['On main: mine, too', 'On main: mine']);
});

test.each([
  ['git branch -f side main', 'The task moved side away from earlier commits; "undo" brings them back.'],
  ['git tag -f v1 main', 'The task moved v1 away from earlier commits; "undo" brings them back.'],
  ['git rm -q --cached a.txt', 'The task changed what is staged of a.txt; "undo" takes that back.'],
  ['git add new.txt', 'The task changed what is staged of new.txt; "undo" takes that back.'],
  ['git tag v2', 'The task made the tag v2.'],
  ['git bisect start -q; git bisect bad', 'The task left a bisect unfinished: finish or abort it before "undo".'],
  [
    'git switch -q side; echo more > s.txt; git commit -qam More; git tag -f v1; git switch -q main',
    'The task also committed to side, which is not checked out; look there for its work.',
  ],
])('what a task did with git alone is told: %s', (agent, note) => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n' }));
  w.script('git switch -qc side; echo s > s.txt; git add -A; git commit -qm Side; git tag v1; git switch -q main');
  w.write({ 'new.txt': 'new\n' });
  const status = w.git('status', '--porcelain');
  w.checkpoint('t1');
  w.script(agent);
  expect(w.conclude('t1').note).toBe(note);
  if (note.includes('takes that back')) expect([w.undo().ok, w.git('status', '--porcelain')]).toEqual([true, status]);
});

test('a bisect of the person that was there before a task is not told as the task', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n' }));
  w.script('git bisect start -q; git bisect bad');
  w.checkpoint('t1');
  w.script('echo two > a.txt');
  const { note } = w.conclude('t1');
  expect(note).toContain('a bisect is in progress');
  expect(note).not.toContain('unfinished');
});

test('a stash that the person makes beside a task in a worktree is not told as the task', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n' }));
  w.ok({ op: 'worktree', action: 'add', key: 't1', author });
  w.checkpoint('t1', 't1');
  w.script('echo person > a.txt; git stash -q');
  w.script('cd .git/fetch-worktrees/t1; echo agent > a.txt; git stash -q');
  const { note } = w.conclude('t1', { worktree: 't1' });
  expect(note).toMatch(/^The task put changes aside: WIP on fetch\/t1: \w+ First\. "git stash pop"/);
  expect(note).not.toContain('WIP on main');
});

test('what tools have generated stays out of the commit and is named, unless the project has files of its own there', () => {
  const w = keep(
    Workspace.repository({ 'package.json': '{}\n', 'docs/dist/kept.js': 'kept\n', 'docs/package.json': '{}\n' }),
  );
  const before = w.state();
  w.checkpoint('t1');
  w.write({
    'src/a.ts': 'a\n',
    'docs/dist/more.js': 'more\n',
    'build.ts': 'no folder\n',
    'env/pyvenv.cfg': 'home = /usr/bin\n',
    'env/lib/x.py': 'x\n',
    'src/__pycache__/a.cpython-311.pyc': 'x\n',
    'dist/a.js': 'a\n',
    'target/CACHEDIR.TAG': 'Signature: 8a477f597d28d172789f06886806bc55\n',
    'target/debug/a': 'a\n',
    'node_modules/left-pad/index.js': 'x\n',
    'a.out': Buffer.from('\x7fELF\0\0\0'),
    'model.bin': Buffer.alloc(2 * 1024 * 1024),
    'icon.png': Buffer.from('\x89PNG\0\0'),
    'a\tb.txt': 'one\ntwo\n',
  });
  const changes = w.conclude('t1');
  const committed = ['a\tb.txt', 'build.ts', 'docs/dist/more.js', 'icon.png', 'src/a.ts'];
  expect(changes.files.map(({ path, added }) => [path, added])).toEqual([
    ['a\\tb.txt', 2],
    ['build.ts', 1],
    ['docs/dist/more.js', 1],
    ['icon.png', 0],
    ['src/a.ts', 1],
  ]);
  expect(w.git('show', '-z', '--name-only', '--format=', 'HEAD').split('\0').filter(Boolean)).toEqual(committed);
  for (const name of [
    'env/ (2 files)',
    'src/__pycache__/ (1 file)',
    'dist/ (1 file)',
    'target/ (2 files)',
    'node_modules/',
    'a.out',
    'model.bin',
  ])
    expect(changes.note).toContain(name);
  expect(w.read('env/lib/x.py')).toBe('x\n');
  expect(w.undo().ok).toBe(true);
  expect(w.state()).toEqual(before);
  w.undo('redo');
  w.write({ 'later.txt': 'later\n' });
  const later = w.ok({ op: 'git-commit', message: 'Later', author });
  expect(w.git('show', '--name-only', '--format=', 'HEAD')).toBe('later.txt');
  expect(later.output).toContain('node_modules/');
});

test.each([
  [
    'more than 200 new files',
    Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`data/${at}.txt`, 'x\n'])),
    '201 new files',
  ],
  ['more than 5 MB', { 'data.csv': '1,2,3,4,5,6\n'.repeat(500_000) }, '1 new file, 6.0 MB more'],
])('%s are not committed before the person has looked at them, and are undone', (_, files, told) => {
  const w = keep(Workspace.repository());
  const before = w.state();
  w.checkpoint('t1');
  w.write(files);
  const changes = w.conclude('t1');
  expect(changes.commit).toBeNull();
  expect(changes.note).toContain(`Nothing is committed yet, because it is much: ${told}`);
  expect(w.git('rev-list', '--count', 'HEAD')).toBe('1');
  expect(w.undo().ok).toBe(true);
  expect(w.state()).toEqual(before);
});

test('a merge that a task finished is in progress again after undo, with its conflicts and what was staged', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n', 'b.txt': 'b\n' }));
  w.git('switch', '-q', '-c', 'other');
  w.write({ 'a.txt': 'theirs\n', 'c.txt': 'theirs\n' });
  w.git('add', '-A');
  w.git('commit', '-q', '-m', 'Theirs');
  w.git('switch', '-q', 'main');
  w.write({ 'a.txt': 'mine\n' });
  w.git('commit', '-q', '-am', 'Mine');
  expect(() => w.git('merge', '-q', 'other')).toThrow(/CONFLICT/);
  const stateOf = () => ({ ...w.state(), merge: w.read('.git/MERGE_HEAD'), message: w.read('.git/MERGE_MSG') });
  const before = stateOf();
  expect(before.status).toContain('AA a.txt'.replace('AA', 'UU'));
  w.checkpoint('t1');
  w.write({ 'a.txt': 'both\n' });
  w.git('add', '-A');
  w.git('commit', '-q', '--no-edit');
  w.write({ 'd.txt': 'd\n' });
  const changes = w.conclude('t1');
  expect(w.git('log', '-1', '--format=%s')).toBe('Task t1');
  w.git('commit', '-q', '--allow-empty', '-m', 'Later');
  expect(w.undo()).toMatchObject({ ok: false, output: expect.stringContaining('A merge was in progress') });
  w.git('reset', '-q', '--soft', changes.commit!);
  expect(w.undo().ok).toBe(true);
  expect(stateOf()).toEqual(before);
  w.git('merge', '--abort');
  expect(w.read('a.txt')).toBe('mine\n');
});

test('a repository that a task made inside of the workspace goes whole, and stays where the person has put a file', () => {
  const w = keep(Workspace.repository());
  const before = w.state();
  w.checkpoint('t1');
  for (const name of ['inner', 'deep/er']) {
    w.git('init', '-q', name);
    w.write({ [`${name}/x.txt`]: 'x\n' });
  }
  w.conclude('t1');
  w.write({ 'deep/er/mine.txt': 'mine\n' });
  expect(w.undo().ok).toBe(true);
  expect(existsSync(join(w.root, 'inner'))).toBe(false);
  expect(w.read('deep/er/mine.txt')).toBe('mine\n');
  w.write({ deep: null });
  expect(w.state()).toEqual(before);
});

test('hooks of the project do not run at the commit of a task', () => {
  const w = keep(Workspace.repository());
  w.write({ '.husky/_/pre-commit': '#!/bin/sh\necho ran > ran; exit 1\n' });
  chmodSync(join(w.root, '.husky/_/pre-commit'), 0o755);
  w.git('config', 'core.hooksPath', '.husky/_');
  w.checkpoint('t1');
  w.write({ 'a.txt': 'two\n' });
  expect(w.conclude('t1').commit).toBe(w.git('rev-parse', 'HEAD'));
  expect(existsSync(join(w.root, 'ran'))).toBe(false);
});

test('a file that the agent staged and changed again is committed as it is; what the person staged is not', () => {
  const w = keep(Workspace.repository({ 'a.txt': 'one\n', 'b.txt': 'b\n' }));
  w.write({ 'b.txt': 'mine\n' });
  w.git('add', 'b.txt');
  const before = w.state();
  w.checkpoint('t1');
  w.write({ 'a.txt': 'two\n', 'new.txt': 'new\n' });
  w.git('add', '-A');
  w.write({ 'a.txt': 'three\n', 'new.txt': 'newer\n' });
  const changes = w.conclude('t1');
  expect(changes).toMatchObject({ branch: 'main', commit: w.git('rev-parse', 'HEAD') });
  expect(w.git('show', 'HEAD:a.txt', 'HEAD:new.txt', 'HEAD:b.txt')).toBe('three\nnewer\nb');
  expect(w.git('status', '--porcelain')).toBe('M  b.txt');
  w.undo();
  expect(w.state()).toEqual(before);
});
