import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WorkspaceOp } from '../../../src/contracts/workspace-ops.ts';
import { author, Workspace } from './program.ts';

let w: Workspace;
beforeEach(() => {
  w = Workspace.repository({ 'a.txt': 'one\n', 'b.txt': 'b\n' });
});
afterEach(() => w.remove());

/** A program that leaves a trace when anything runs it. */
function trap(): { command: string; sprung: () => string } {
  const trace = join(w.base, 'sprung');
  const command = join(w.base, 'trap.sh');
  writeFileSync(command, `#!/bin/sh\necho "$0 $*" >> ${trace}\ncat\n`);
  chmodSync(command, 0o755);
  return { command, sprung: () => (existsSync(trace) ? readFileSync(trace, 'utf8') : '') };
}

test('no operation runs a program that the repository names', { timeout: 300_000 }, () => {
  const { command, sprung } = trap();
  w.write({ '.gitattributes': '*.txt filter=evil diff=evil merge=evil\nother.txt -filter\n' });
  w.git('add', '-A');
  w.git('commit', '-q', '-m', 'Attributes');
  const settings = {
    'core.fsmonitor': command,
    'core.hooksPath': join(w.base, 'hooks'),
    'core.pager': command,
    'core.editor': command,
    'core.sshCommand': command,
    'core.askPass': command,
    'core.alternateRefsCommand': command,
    'filter.evil.clean': command,
    'filter.evil.smudge': command,
    'filter.evil.process': command,
    'filter.evil.required': 'true',
    'diff.external': command,
    'diff.evil.command': command,
    'diff.evil.textconv': command,
    'merge.evil.driver': command,
    'merge.default': 'evil',
    'alias.status': `!${command}`,
    'alias.commit-tree': `!${command}`,
    'gpg.program': command,
    'commit.gpgSign': 'true',
    'log.showSignature': 'true',
    'sequence.editor': command,
    'credential.helper': `!${command}`,
    'remote.origin.url': `ext::${command}`,
    'remote.origin.promisor': 'true',
    'protocol.ext.allow': 'always',
    'core.worktree': '/',
    'submodule.recurse': 'true',
    'trailer.evil.command': command,
    'interactive.diffFilter': command,
    'core.untrackedCache': 'true',
  };
  const hooks = [
    'pre-commit',
    'post-commit',
    'commit-msg',
    'prepare-commit-msg',
    'post-checkout',
    'reference-transaction',
    'post-index-change',
    'pre-auto-gc',
    'post-rewrite',
    'fsmonitor-watchman',
  ];
  for (const folder of [join(w.base, 'hooks'), join(w.root, '.git/hooks')]) {
    mkdirSync(folder, { recursive: true });
    for (const hook of hooks) {
      writeFileSync(join(folder, hook), readFileSync(command));
      chmodSync(join(folder, hook), 0o755);
    }
  }
  writeFileSync(
    join(w.base, 'included'),
    `[filter "evil two"]\n\tclean = ${command}\n\tsmudge = ${command}\n[core]\n\tfsmonitor = ${command}\n`,
  );
  writeFileSync(join(w.root, '.git/info/attributes'), '*.md filter="evil two"\n');
  writeFileSync(
    join(w.root, '.git/config'),
    `${readFileSync(join(w.root, '.git/config'), 'utf8')}[include]\n\tpath = ${join(w.base, 'included')}\n` +
      Object.entries(settings)
        .map(([key, value]) => {
          const [section, ...rest] = key.split('.');
          const name = rest.pop();
          return `[${section}${rest.length > 0 ? ` "${rest.join('.')}"` : ''}]\n\t${name} = ${value}\n`;
        })
        .join(''),
  );

  const run = (op: WorkspaceOp) => w.ask(op);
  w.checkpoint('t1');
  w.write({ 'a.txt': 'two\n', 'c.md': 'c\n', 'other.txt': 'o\n' });
  run({ op: 'git-status' });
  run({ op: 'git-diff', staged: false });
  run({ op: 'profile' });
  run({ op: 'search', pattern: 'two', regex: false, path: '.', limit: 10 });
  const changes = w.conclude('t1');
  expect(changes.commit).not.toBeNull();
  expect(changes.note).toContain('a.txt');
  expect(run({ op: 'git-log', limit: 5 }).output).toContain('Task t1');
  expect(run({ op: 'git-diff', staged: false, against: 'HEAD~1' }).ok).toBe(true);
  expect(run({ op: 'git-commit', message: 'x', author }).output).toContain('filter');
  w.write({ 'plain.js': 'p\n' });
  expect(run({ op: 'git-commit', message: 'x', paths: ['plain.js'], author }).ok).toBe(true);
  expect(run({ op: 'git-branch', action: 'create', name: 'feature' }).ok).toBe(true);
  expect(run({ op: 'git-branch', action: 'switch', name: 'main' }).ok).toBe(true);
  expect(run({ op: 'worktree', action: 'add', key: 'w1', author }).ok).toBe(true);
  w.checkpoint('w1', 'w1');
  writeFileSync(join(w.root, '.git/fetch-worktrees/w1/a.txt'), 'in the worktree\n');
  w.conclude('w1', { worktree: 'w1' });
  expect(run({ op: 'worktree', action: 'remove', key: 'w1', author }).ok).toBe(true);
  expect(w.undo().ok).toBe(true);
  expect(w.read('a.txt')).toBe('one\n');
  w.undo('redo');
  expect(w.read('a.txt')).toBe('two\n');
  expect(sprung()).toBe('');
});

test('a submodule with a hostile configuration runs nothing either', () => {
  const { command, sprung } = trap();
  const library = Workspace.repository({ 'lib.txt': 'lib\n' });
  w.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.root, 'lib');
  w.git('commit', '-qm', 'With a submodule');
  library.remove();
  w.git('-C', 'lib', 'config', 'core.fsmonitor', command);
  w.git('config', 'submodule.lib.ignore', 'none');
  w.git('config', 'diff.submodule', 'diff');
  writeFileSync(join(w.root, 'lib/lib.txt'), 'dirty\n');
  w.checkpoint('t1');
  w.write({ 'a.txt': 'two\n' });
  w.ask({ op: 'git-status' });
  w.ask({ op: 'git-diff', staged: false });
  w.ask({ op: 'git-commit', message: 'x', paths: ['a.txt'], author });
  w.conclude('t1');
  w.undo();
  expect(sprung()).toBe('');
});

test('links that lead out are neither read nor written through', () => {
  const outside = join(w.base, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'secret\n');
  symlinkSync(outside, join(w.root, 'folder'));
  symlinkSync(join(outside, 'secret'), join(w.root, 'file'));
  symlinkSync(join(outside, 'not-yet'), join(w.root, 'dangling'));
  symlinkSync('.git', join(w.root, 'dotgit'));
  symlinkSync('a.txt', join(w.root, 'fine'));
  const refused: WorkspaceOp[] = [
    { op: 'read', path: 'folder/secret', from: 1, lines: 10 },
    { op: 'read', path: 'file', from: 1, lines: 10 },
    { op: 'read', path: 'dotgit/config', from: 1, lines: 10 },
    { op: 'read', path: '.git/config', from: 1, lines: 10 },
    { op: 'read', path: '.GIT/config', from: 1, lines: 10 },
    { op: 'read', path: '../outside/secret', from: 1, lines: 10 },
    { op: 'read', path: 'sub/../../outside/secret', from: 1, lines: 10 },
    { op: 'read', path: join(outside, 'secret'), from: 1, lines: 10 },
    { op: 'list', path: 'folder', depth: 1, limit: 10 },
    { op: 'search', pattern: 'secret', regex: false, path: 'folder', limit: 10 },
    { op: 'write', path: 'folder/new', content: 'x' },
    { op: 'write', path: 'file', content: 'x' },
    { op: 'write', path: 'dangling', content: 'x' },
    { op: 'write', path: '.git/hooks/pre-commit', content: 'x' },
    { op: 'write', path: '.g\u200bit/config', content: 'x' },
    { op: 'edit', path: 'file', find: 'secret', replace: 'x', all: false },
    { op: 'delete', path: 'folder/secret', kind: 'file' },
    { op: 'delete', path: '.git', kind: 'folder' },
    { op: 'delete', path: '.', kind: 'folder' },
  ];
  for (const op of refused) expect(w.ask(op), JSON.stringify(op)).toMatchObject({ ok: false });
  expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret\n');
  expect(w.ask({ op: 'search', pattern: 'secret', regex: false, path: '.', limit: 10 }).data).toMatchObject({
    matches: 0,
  });
  expect(w.ask({ op: 'read', path: 'fine', from: 1, lines: 10 })).toMatchObject({ ok: true, output: '1  one' });
  expect(w.ask({ op: 'delete', path: 'folder', kind: 'file' }).ok).toBe(true);
  expect(existsSync(join(outside, 'secret'))).toBe(true);
});

test('undo writes nothing through a folder that became a link to somewhere else', () => {
  const outside = join(w.base, 'outside');
  mkdirSync(outside);
  w.write({ 'dir/x.txt': 'x\n' });
  w.git('add', '-A');
  w.git('commit', '-q', '-m', 'dir');
  w.checkpoint('t1');
  w.write({ dir: null });
  w.conclude('t1');
  symlinkSync(outside, join(w.root, 'dir'));
  expect(w.undo().ok).toBe(false);
  expect(existsSync(join(outside, 'x.txt'))).toBe(false);
});

test('a file of 500 MB is kept and brought back, and read only as far as is needed', { timeout: 300_000 }, () => {
  const file = openSync(join(w.root, 'big.dat'), 'w');
  ftruncateSync(file, 500 * 1024 * 1024);
  closeSync(file);
  writeFileSync(join(w.root, 'big.txt'), 'a line of text\n'.repeat(8_000_000));
  const started = Date.now();
  expect(w.ask({ op: 'read', path: 'big.dat', from: 1, lines: 10 })).toMatchObject({
    ok: false,
    output: expect.stringContaining('binary'),
  });
  expect(w.ask({ op: 'read', path: 'big.txt', from: 3, lines: 2 }).output).toMatch(
    /^3 {2}a line of text\n4 {2}a line of text\n… more lines follow/,
  );
  expect(w.ask({ op: 'read', path: 'big.txt', from: 7_000_000, lines: 2 })).toMatchObject({ ok: false });
  expect(w.ask({ op: 'edit', path: 'big.txt', find: 'a', replace: 'b', all: true })).toMatchObject({ ok: false });
  expect(w.ask({ op: 'search', pattern: 'nothing like this', regex: false, path: '.', limit: 10 }).ok).toBe(true);
  const looked = Date.now();
  w.checkpoint('t1');
  const kept = Date.now();
  w.write({ 'big.dat': 'overwritten\n' });
  w.conclude('t1');
  expect(w.undo().ok).toBe(true);
  console.log(
    `500 MB: looked at in ${looked - started} ms, checkpoint ${kept - looked} ms, conclude and undo ${Date.now() - kept} ms`,
  );
  expect(w.git('hash-object', '--no-filters', 'big.dat')).toBe(w.kept('rev-parse', 'refs/fetch/t1/before:big.dat'));
});

test('20,000 files are kept, concluded and undone in bounded time', { timeout: 300_000 }, () => {
  for (let n = 0; n < 20_000; n += 1) {
    if (n % 200 === 0) mkdirSync(join(w.root, `d${n / 200}`));
    writeFileSync(join(w.root, `d${Math.floor(n / 200)}`, `f${n}.txt`), `content ${n}\n`);
  }
  w.git('add', '-A');
  w.git('commit', '-q', '-m', 'Many');
  const times: Record<string, number> = {};
  const timed = (name: string, action: () => void) => {
    const started = Date.now();
    action();
    times[name] = Date.now() - started;
  };
  timed('checkpoint', () => w.checkpoint('t1'));
  w.write({ 'd7/f1400.txt': 'changed\n', d9: null });
  timed('conclude', () => expect(w.conclude('t1').files).toHaveLength(201));
  timed('undo', () => expect(w.undo().ok).toBe(true));
  timed('second checkpoint', () => w.checkpoint('t2'));
  timed('list', () => expect(w.ask({ op: 'list', path: '.', depth: 2, limit: 100 }).output).toContain('more entries'));
  timed('search', () =>
    expect(w.ask({ op: 'search', pattern: 'content', regex: false, path: '.', limit: 50 }).output).toContain(
      'left out',
    ),
  );
  timed('status', () => w.ask({ op: 'git-status' }));
  console.log('20,000 files, ms:', times);
  expect(w.git('status', '--porcelain')).toBe('');
  expect(Math.max(...Object.values(times))).toBeLessThan(60_000);
});

test('a git folder that cannot be read, or leads elsewhere, is refused in words', () => {
  writeFileSync(join(w.root, '.git/config'), '[core\nbroken');
  const broken = w.ask({ op: 'git-status' });
  expect(broken).toMatchObject({ ok: false, output: expect.stringContaining('config') });
  const other = new Workspace();
  writeFileSync(join(other.root, '.git'), `gitdir: ${w.root}/.git\n`);
  expect(other.ask({ op: 'git-status' })).toMatchObject({ ok: false, output: expect.stringContaining('elsewhere') });
  other.write({ 'x.txt': 'x\n' });
  expect(other.checkpoint('t1').data).toMatchObject({ kept: 'beside' });
  other.remove();
});
