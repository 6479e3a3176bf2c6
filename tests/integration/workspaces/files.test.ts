import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { author, Workspace } from './program.ts';

let w: Workspace;
beforeEach(() => {
  w = Workspace.repository({
    'src/main.ts': 'one\ntwo\nthree\ntwo\n',
    'README.md': '# Hi\n',
    '.gitignore': 'dist/\n',
    'dist/out.js': 'two\n',
  });
});
afterEach(() => w.remove());

test('lists folders first, with sizes, links and odd names in sight, and says what is left out', () => {
  w.write({ 'bad\nname': 'x', 'node_modules/dep/index.js': 'x' });
  const answer = w.ok({ op: 'list', path: '.', depth: 2, limit: 100 });
  expect(answer.output.split('\n')).toEqual([
    'dist/',
    '  out.js (4 bytes)',
    'node_modules/',
    'src/',
    '  main.ts (18 bytes)',
    '.gitignore (6 bytes)',
    'README.md (5 bytes)',
    'bad\\nname (1 bytes)',
  ]);
  expect(w.ok({ op: 'list', path: 'src', depth: 1, limit: 1 }).data).toEqual({ entries: ['src/main.ts'], left: 0 });
  expect(w.ok({ op: 'list', path: '.', depth: 1, limit: 2 }).output).toContain('more entries are left out');
});

test('reads the lines of a UTF-16 file, which programs on Windows write', () => {
  const text = 'first\r\nzweite Zeile: ü\r\n';
  const little = Buffer.from(`\ufeff${text}`, 'utf16le');
  const big = Buffer.from(little).swap16();
  for (const [name, bytes] of [
    ['little.txt', little],
    ['big.txt', big],
    ['little without a mark.txt', little.subarray(2)],
    ['big without a mark.txt', big.subarray(2)],
  ] as const) {
    w.write({ [name]: bytes });
    expect(w.ok({ op: 'read', path: name, from: 1, lines: 9 }).output).toBe('1  first\n2  zweite Zeile: ü');
    expect(w.ok({ op: 'read', path: name, from: 1, lines: 1 }).output).toContain('more lines follow');
  }
  const numbers = Buffer.from(Uint32Array.from({ length: 3_000 }, (_, at) => at).buffer);
  for (const bytes of [Buffer.from([0xff, 0xd8, 0, 1]), Buffer.from([65, 0, 0]), numbers]) {
    w.write({ 'no-text.bin': bytes });
    expect(w.ask({ op: 'read', path: 'no-text.bin', from: 1, lines: 1 }).output).toContain('binary');
  }
});

test('a UTF-16 file is edited and written in its own encoding, with its mark, and undo has its bytes', () => {
  const bytesOf = (text: string, { mark, big }: { mark: boolean; big: boolean }): Buffer => {
    const little = Buffer.from((mark ? '\ufeff' : '') + text, 'utf16le');
    return big ? little.swap16() : little;
  };
  const before = 'first\r\nzweite Zeile: ü\r\nlast line without much\r\n';
  for (const mark of [true, false])
    for (const big of [true, false]) {
      const form = { mark, big };
      const path = `notes ${mark} ${big}.txt`;
      w.write({ [path]: bytesOf(before, form) });
      const key = `edit-${mark}-${big}`;
      const edited = w.ok({
        op: 'edit',
        path,
        find: 'first\nzweite',
        replace: 'eins\nзвонок 🙂',
        all: false,
        edit: { key, turn: key },
      });
      expect(edited.output, path).toBe(`Changed ${path} (+2 −2).`);
      const after = before.replace('first\r\nzweite', 'eins\r\nзвонок 🙂');
      expect(w.bytes(path).equals(bytesOf(after, form)), path).toBe(true);
      w.undo();
      expect(w.bytes(path).equals(bytesOf(before, form)), path).toBe(true);
      w.ok({ op: 'write', path, content: 'all new, äöü\n' });
      expect(w.bytes(path).equals(bytesOf('all new, äöü\n', form)), path).toBe(true);
    }
});

test('a UTF-8 file keeps the mark that it begins with, when it is edited and when it is replaced', () => {
  for (const content of ['new: ü\n', '\ufeffnew: ü\n']) {
    w.write({ 'marked.ps1': '\ufeffold: ä\n' });
    w.ok({ op: 'edit', path: 'marked.ps1', find: 'old', replace: 'older', all: false });
    expect(w.read('marked.ps1')).toBe('\ufeffolder: ä\n');
    w.ok({ op: 'write', path: 'marked.ps1', content });
    expect(w.read('marked.ps1')).toBe('\ufeffnew: ü\n');
  }
});

test('a file that only begins like UTF-16 is not edited, because bytes of it would be lost', () => {
  const odd = Buffer.concat([Buffer.from('\ufefftext text', 'utf16le'), Buffer.from([65])]);
  const halves = Buffer.concat([Buffer.from('\ufefftext', 'utf16le'), Buffer.from([0x00, 0xd8, 0x41, 0x00])]);
  const utf32 = Buffer.from([0xff, 0xfe, 0, 0, 0x74, 0, 0, 0, 0x65, 0, 0, 0]);
  for (const bytes of [odd, halves, utf32]) {
    w.write({ 'x.txt': bytes });
    expect(w.ask({ op: 'edit', path: 'x.txt', find: 'te', replace: 'x', all: true }).ok).toBe(false);
    expect(w.ask({ op: 'write', path: 'x.txt', content: 'x' }).ok).toBe(false);
    expect(w.bytes('x.txt').equals(bytes)).toBe(true);
  }
});

test('reads lines with their numbers, and refuses what is binary or not there with the nearest name', () => {
  expect(w.ok({ op: 'read', path: 'src/main.ts', from: 2, lines: 2 }).output).toBe(
    '2  two\n3  three\n… more lines follow after line 3 (18 bytes in all)',
  );
  expect(w.ok({ op: 'read', path: 'src/main.ts', from: 3, lines: 20 }).output).toBe('3  three\n4  two');
  expect(w.ask({ op: 'read', path: 'src/main.ts', from: 9, lines: 1 })).toMatchObject({
    ok: false,
    output: expect.stringContaining('has 4 lines'),
  });
  expect(w.ask({ op: 'read', path: 'src/mian.ts', from: 1, lines: 1 }).output).toContain('Did you mean src/main.ts?');
  expect(w.ask({ op: 'read', path: 'main.ts', from: 1, lines: 1 }).output).toContain('Did you mean ./src/main.ts?');
  writeFileSync(join(w.root, 'x.bin'), Buffer.from([1, 0, 2]));
  expect(w.ask({ op: 'read', path: 'x.bin', from: 1, lines: 1 }).output).toContain('binary');
  w.write({ 'long.txt': `${'x'.repeat(5_000)}\n\u001b[31mred\n` });
  const long = w.ok({ op: 'read', path: 'long.txt', from: 1, lines: 5 }).output;
  expect(long).toContain('(3000 more)');
  expect(long).toContain('\\u001b[31mred');
});

test('searches text, expressions and globs, without ignored files', () => {
  const found = (op: { pattern: string; regex?: boolean; path?: string; glob?: string; limit?: number }) =>
    w.ask({ op: 'search', regex: false, path: '.', limit: 10, ...op });
  expect(found({ pattern: 'two' }).output).toBe('src/main.ts:2: two\nsrc/main.ts:4: two');
  expect(found({ pattern: '^t\\w+e$', regex: true }).output).toBe('src/main.ts:3: three');
  expect(found({ pattern: 'i', glob: '*.md' }).output).toBe('README.md:1: # Hi');
  expect(found({ pattern: 'two', glob: '*.md' }).output).toContain('Nothing matches');
  expect(found({ pattern: 'two', path: 'src', glob: '*.ts' }).data).toMatchObject({ matches: 2 });
  expect(found({ pattern: 'two', limit: 1 }).output).toContain('1 further matches are left out');
  expect(found({ pattern: '(', regex: true })).toMatchObject({ ok: false });
  expect(found({ pattern: '-e' }).ok).toBe(true);
  w.write({ 'odd\nname.txt': 'needle\n', 'ü.txt': 'needle\n' });
  expect(found({ pattern: 'needle' }).output).toBe('odd\\nname.txt:1: needle\nü.txt:1: needle');
});

test('writes a new file and replaces one, keeping its permissions; a preview changes nothing', () => {
  const preview = w.ok({ op: 'write', path: 'lib/new file.ts', content: 'a\nb\n', preview: true });
  expect(preview.output).toContain('+++ b/lib/new file.ts');
  expect(preview.output).toContain('--- /dev/null');
  expect(w.files()['lib/new file.ts']).toBeUndefined();
  expect(w.ok({ op: 'write', path: 'lib/new file.ts', content: 'a\nb\n' }).output).toBe(
    'Made lib/new file.ts (+2 −0).',
  );
  chmodSync(join(w.root, 'README.md'), 0o640);
  expect(w.ok({ op: 'write', path: 'README.md', content: '# Ho\n' }).data).toMatchObject({ added: 1, removed: 1 });
  expect(statSync(join(w.root, 'README.md')).mode & 0o777).toBe(0o640);
});

test('edits text that occurs once, names the lines where it occurs more often, and keeps line endings', () => {
  expect(w.ask({ op: 'edit', path: 'src/main.ts', find: 'two', replace: '2', all: false }).output).toContain(
    'occurs 2 times in src/main.ts (lines 2, 4)',
  );
  expect(
    w.ok({ op: 'edit', path: 'src/main.ts', find: 'two', replace: '$&', all: true, preview: true }).output,
  ).toContain('+$&');
  expect(w.ok({ op: 'edit', path: 'src/main.ts', find: 'two\nthree', replace: '2\n3', all: false }).ok).toBe(true);
  expect(w.read('src/main.ts')).toBe('one\n2\n3\ntwo\n');
  expect(w.ask({ op: 'edit', path: 'src/main.ts', find: '  one', replace: 'x', all: false }).output).toContain(
    'Line 1 is like it: one',
  );
  w.write({ 'dos.txt': 'a\r\nb\r\n' });
  w.ok({ op: 'edit', path: 'dos.txt', find: 'a\nb', replace: 'c\nd', all: false });
  expect(w.read('dos.txt')).toBe('c\r\nd\r\n');
  writeFileSync(join(w.root, 'latin1.txt'), Buffer.from([0xe4, 0x0a]));
  expect(w.ok({ op: 'read', path: 'latin1.txt', from: 1, lines: 1 }).output).toBe(
    '1  \ufffd\n… \ufffd stands for what is not UTF-8 in this file',
  );
  expect(w.ask({ op: 'edit', path: 'latin1.txt', find: '\n', replace: 'x', all: false }).output).toContain('not UTF-8');
});

test('a new name that could be mistaken for one that is there is refused', () => {
  for (const path of [
    'readme.md',
    'src/Main.ts',
    'src/m\u0430in.ts',
    'src/ｍain.ts',
    'SRC/other.ts',
    'src/main\u200b.ts',
    'src/a\nb.ts',
    'src/\u202eevil.ts',
  ]) {
    expect(w.ask({ op: 'write', path, content: 'x' }), path).toMatchObject({ ok: false });
  }
  expect(w.ok({ op: 'write', path: 'src/größe.ts', content: 'x' }).ok).toBe(true);
});

test('deletes files and folders, with a preview of what goes', () => {
  expect(w.ask({ op: 'delete', path: 'src', kind: 'file' }).output).toContain('is a folder');
  expect(w.ok({ op: 'delete', path: 'src', kind: 'folder', preview: true }).output).toBe(
    'Deletes folder src with 1 files (18 bytes):\nsrc/main.ts',
  );
  expect(w.ok({ op: 'delete', path: 'README.md', kind: 'file', preview: true }).output).toContain('-# Hi');
  w.ok({ op: 'delete', path: 'src', kind: 'folder' });
  w.ok({ op: 'delete', path: 'README.md', kind: 'file' });
  expect(Object.keys(w.files())).toEqual(['.gitignore', 'dist/out.js']);
  w.git('init', '-q', 'inner');
  expect(w.ask({ op: 'delete', path: 'inner', kind: 'folder' }).output).toContain('repository of its own');
});

test('shows new files as differences, names those that it does not show, and writes nothing into the repository', () => {
  const objects = w.git('count-objects', '-v');
  expect(w.ok({ op: 'git-diff', staged: false })).toMatchObject({ output: 'There is no difference.', ours: true });
  w.write({ 'a b.txt': 'only new\n', 'large.txt': 'x'.repeat(1024 * 1024) });
  w.git('init', '-q', 'inner');
  const { output } = w.ok({ op: 'git-diff', staged: false });
  expect(output).toContain('+only new');
  expect(output).toMatch(/\nNew, and not shown: inner\/, large\.txt\.$/);
  expect(w.ok({ op: 'git-diff', staged: true }).output).toBe('There is no difference.');
  expect(w.git('count-objects', '-v')).toBe(objects);
});

test('shows status, differences and history, commits chosen paths and switches branches without losing anything', () => {
  w.write({ 'README.md': '# Ho\n', 'new.txt': 'n\n', 'mine.txt': 'm\n' });
  w.git('add', 'mine.txt');
  expect(w.ok({ op: 'git-status' }).output.split('\n')).toEqual([
    'On main',
    'Staged:',
    '  mine.txt',
    'Changed, not staged:',
    '  README.md',
    'Untracked:',
    '  new.txt',
  ]);
  const index = w.git('ls-files', '--stage');
  const all = w.ok({ op: 'git-diff', staged: false }).output;
  expect(all).toContain('+# Ho');
  expect(all).toContain('new file mode 100644\nindex 0000000..');
  expect(all).toContain('--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n');
  expect(all).not.toContain('mine.txt');
  expect(w.ok({ op: 'git-diff', staged: false, path: 'README.md' }).output).not.toContain('new.txt');
  expect(w.ok({ op: 'git-diff', staged: false, against: 'HEAD' }).output).toMatch(/\+m\n[\s\S]*\+n\n/);
  expect(w.git('ls-files', '--stage')).toBe(index);
  expect(w.ok({ op: 'git-diff', staged: true }).output).toContain('+m');
  expect(w.ask({ op: 'git-diff', staged: false, against: '--output=x' })).toMatchObject({ ok: false });
  const committed = w.ok({ op: 'git-commit', message: 'Docs', paths: ['README.md', 'new.txt'], author });
  expect(committed.output).toContain('2 files changed');
  expect(w.git('status', '--porcelain')).toBe('A  mine.txt');
  w.ok({ op: 'git-commit', message: 'Mine', author });
  expect(w.ok({ op: 'git-log', limit: 10 }).data!.commits).toMatchObject([
    { subject: 'Mine', author: 'Test Person' },
    { subject: 'Docs' },
    { subject: 'First' },
  ]);
  expect(w.ask({ op: 'git-commit', message: 'Nothing', author })).toMatchObject({
    ok: false,
    output: 'There is nothing to commit.',
  });
  w.ok({ op: 'git-branch', action: 'create', name: 'feature' });
  w.write({ 'src/main.ts': 'feature\n' });
  w.ok({ op: 'git-commit', message: 'On feature', author });
  w.ok({ op: 'git-branch', action: 'switch', name: 'main' });
  w.write({ 'src/main.ts': 'unfinished\n' });
  expect(w.ask({ op: 'git-branch', action: 'switch', name: 'feature' })).toMatchObject({ ok: false });
  expect(w.read('src/main.ts')).toBe('unfinished\n');
  expect(w.ok({ op: 'git-branch', action: 'list' }).output).toContain('* main');
  expect(w.ask({ op: 'git-branch', action: 'create', name: '-f' })).toMatchObject({ ok: false });
});
