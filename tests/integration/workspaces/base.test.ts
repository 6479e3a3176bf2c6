import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { BaseLook, HeadLook } from '../../../src/contracts/workspace-ops.ts';
import { until } from '../../support/until.ts';
import { author, Workspace } from './program.ts';

const made: Workspace[] = [];
const repository = (files: Record<string, string>): Workspace => {
  const workspace = Workspace.repository(files);
  made.push(workspace);
  return workspace;
};
afterEach(() => {
  for (const workspace of made.splice(0)) workspace.remove();
});

const look = (w: Workspace, key: string): BaseLook =>
  w.ok({ op: 'base', action: 'look', key }).data as unknown as BaseLook;
const lookNow = (w: Workspace, key: string): BaseLook =>
  w.ok({ op: 'base', action: 'look', key, now: true }).data as unknown as BaseLook;
/** A file of the copy, by the path in the workspace; null when there is none. */
const copied = (w: Workspace, key: string, path: string): string | null => {
  const file = join(w.side, `base-${key}`, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
};

describe('the state before a task', () => {
  test('is a copy with the files as they were, uncommitted ones too, and the packages that are there now', () => {
    const w = repository({
      'package.json': '{ "scripts": { "test": "node --test" } }',
      'a.js': 'old\n',
      'gone.js': 'gone\n',
      '.gitignore': 'node_modules\n',
    });
    w.write({ 'a.js': 'unfinished\n' });
    w.checkpoint('t1');
    w.write({
      'a.js': 'new\n',
      'new/b.js': 'b\n',
      'node_modules/p/index.js': 'p\n',
      'package.json': '{ "scripts": { "test": "true" } }',
    });
    w.run({ op: 'delete', path: 'gone.js', kind: 'file' });
    mkdirSync(join(w.root, 'link'));
    symlinkSync('/etc', join(w.root, 'link/etc'));
    w.conclude('t1');
    const now = w.files();
    expect(w.ok({ op: 'base', action: 'make', key: 't1' }).data).toEqual({ test: ['npm', 'test'] });
    expect(copied(w, 't1', 'a.js')).toBe('unfinished\n');
    expect(copied(w, 't1', 'gone.js')).toBe('gone\n');
    expect(copied(w, 't1', 'new/b.js')).toBeNull();
    expect(copied(w, 't1', 'package.json')).toContain('node --test');
    expect(copied(w, 't1', 'node_modules/p/index.js')).toBe('p\n');
    expect(w.files()).toEqual(now);
    // again, as after a crash
    w.ok({ op: 'base', action: 'make', key: 't1' });
    w.ok({ op: 'base', action: 'remove', key: 't1' });
    expect(existsSync(join(w.side, 'base-t1'))).toBe(false);
    expect(w.undo().ok).toBe(true);
  });

  test('is a copy for a task in a worktree, too', () => {
    const w = repository({ 'a.js': 'old\n' });
    w.ok({ op: 'worktree', action: 'add', key: 't1', author });
    w.checkpoint('t1', 't1');
    const path = '.git/fetch-worktrees/t1/a.js';
    w.write({ [path]: 'new\n' });
    w.conclude('t1', { worktree: 't1' });
    w.ok({ op: 'base', action: 'make', key: 't1', worktree: 't1' });
    expect(copied(w, 't1', path)).toBe('old\n');
    expect(readFileSync(join(w.root, path), 'utf8')).toBe('new\n');
  });

  test('has the same id for the same files, so that their tests need not run again', () => {
    const w = repository({ 'a.js': 'one\n' });
    w.checkpoint('t1');
    w.write({ 'a.js': 'two\n' });
    w.conclude('t1');
    w.checkpoint('t2');
    w.write({ 'a.js': 'three\n' });
    w.conclude('t2');
    expect(look(w, 't2').before).toBe(look(w, 't1').after);
    expect(look(w, 't2').after).not.toBe(look(w, 't2').before);
  });

  test('is a copy between two runs of a task, too, with the files of then or of now', () => {
    const w = repository({
      'package.json': '{ "scripts": { "test": "node --test" } }',
      'a.js': 'old\n',
      '.gitignore': 'node_modules\n',
    });
    w.checkpoint('t1');
    w.write({ 'a.js': 'new\n', 'b.test.js': JEST, 'node_modules/p/index.js': 'p\n' });
    const now = w.ok({ op: 'base', action: 'look', key: 't1', now: true }).data as unknown as BaseLook;
    expect(now.test).toEqual(['npm', 'test']);
    w.ok({ op: 'base', action: 'make', key: 't1', now: true });
    expect([copied(w, 't1', 'a.js'), copied(w, 't1', 'b.test.js')]).toEqual(['old\n', null]);
    w.ok({ op: 'base', action: 'copy', key: 't1', now: true });
    expect([copied(w, 't1', 'a.js'), copied(w, 't1', 'node_modules/p/index.js')]).toEqual(['new\n', 'p\n']);
    // nothing of it is kept, and the task ends as if nobody had looked
    w.write({ 'a.js': 'newer\n' });
    expect(w.conclude('t1')).toMatchObject({ files: [{ path: 'a.js' }, { path: 'b.test.js' }] });
    expect(look(w, 't1').before).toBe(now.before);
    expect(look(w, 't1').after).not.toBe(now.after);
    w.write({ 'a.js': 'new\n' });
    w.checkpoint('t2');
    expect(w.ok({ op: 'base', action: 'look', key: 't2', now: true }).data).toMatchObject({ before: now.after });
  });

  test('is refused for a task that has not ended, and for one that never was', () => {
    const w = repository({ 'a.js': 'one\n' });
    w.checkpoint('t1');
    for (const [key, why] of [
      ['t1', 't1 has not ended yet.'],
      ['t2', 'There is no checkpoint of t2'],
      ['../t1', 'The key must be'],
    ] as const) {
      const answer = w.ask({ op: 'base', action: 'make', key });
      expect(answer.ok).toBe(false);
      expect(answer.output).toContain(why);
    }
  });
});

const JEST = "test('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n";
const PYTEST = 'def test_adds():\n    assert add(1, 2) == 3\n';

describe('what a task did to the tests', () => {
  test.each<[string, Record<string, string>, Record<string, string>, string[]]>([
    [
      'an emptied test',
      { 'a.test.js': JEST },
      { 'a.test.js': "test('adds', () => {\n});\n" },
      ['a.test.js 1>1 1>0 0>0'],
    ],
    [
      'an emptied test of Python',
      { 'test_a.py': PYTEST },
      { 'test_a.py': 'def test_adds():\n    pass\n' },
      ['test_a.py 1>1 1>0 0>0'],
    ],
    ['a test that is gone', { 'test_a.py': `${PYTEST}${PYTEST}` }, { 'test_a.py': PYTEST }, ['test_a.py 2>1 2>1 0>0']],
    [
      'a skipped test',
      { 'a.test.js': JEST },
      { 'a.test.js': JEST.replace('test(', 'test.skip(') },
      ['a.test.js 1>1 1>1 0>1'],
    ],
    [
      'an ignored test of Rust',
      { 'a.rs': '#[test]\nfn a() { assert!(x()); }\n' },
      { 'a.rs': '#[test]\n#[ignore]\nfn a() { assert!(x()); }\n' },
      ['a.rs 1>1 1>1 0>1'],
    ],
    [
      'a skipped test of Go',
      { 'a_test.go': 'func TestA(t *testing.T) {\n\tif x() != 1 {\n\t\tt.Fatal("x")\n\t}\n}\n' },
      { 'a_test.go': 'func TestA(t *testing.T) {\n\tt.Skip()\n\tif x() != 1 {\n\t\tt.Fatal("x")\n\t}\n}\n' },
      ['a_test.go 1>1 1>1 0>1'],
    ],
    ['a test that moved', { 'a.test.js': JEST }, { 'a.test.js': '\n', 'b.test.js': JEST }, []],
    [
      'one of two tests on a line',
      { 'a.test.js': "test('a', () => {}); test('b', () => {});\n" },
      { 'a.test.js': "test('a', () => {});\n" },
      ['a.test.js 2>1 0>0 0>0'],
    ],
    [
      'a test in a file that no runner looks into',
      { 'tests/a.test.js': JEST },
      { 'tests/a.test.js': '', 'lib/helper.js': JEST },
      ['tests/a.test.js 1>0 1>0 0>0'],
    ],
    ['more tests', { 'a.test.js': JEST }, { 'a.test.js': `${JEST}${JEST}` }, []],
    ['code without tests', { 'a.js': 'assert(1);\nassert(2);\n' }, { 'a.js': 'assert(1);\n' }, []],
  ])('is named: %s', (_, before, after, weakened) => {
    const w = repository(before);
    w.checkpoint('t1');
    w.write(after);
    w.conclude('t1');
    expect(
      look(w, 't1').edits.weakened.map(
        ({ path, ...counts }) =>
          `${path} ${[counts.tests, counts.checks, counts.skips].map((each) => each.join('>')).join(' ')}`,
      ),
    ).toEqual(weakened);
  });

  test('is named where other files say which tests are run', () => {
    const w = repository({
      'package.json': '{ "scripts": { "test": "jest" } }',
      'pkg/package.json': '{ "scripts": { "test": "jest" }, "version": "1.0.0" }',
      'jest.config.js': 'module.exports = {};\n',
    });
    w.checkpoint('t1');
    w.write({
      'package.json': '{ "scripts": { "test": "true" } }',
      'pkg/package.json': '{ "scripts": { "test": "jest" }, "version": "1.0.1" }',
      'jest.config.js': 'module.exports = { testMatch: [] };\n',
      'pytest.ini': '[pytest]\n',
    });
    w.conclude('t1');
    expect(look(w, 't1').edits.settings).toEqual(['jest.config.js', 'package.json']);
  });

  test('is named where a file that git does not look at says how tests are run', () => {
    const w = repository({ '.gitignore': '.npmrc\npytest.ini\nrun.log\n', 'a.test.js': JEST });
    w.write({ 'pytest.ini': '[pytest]\n' });
    w.checkpoint('t1');
    w.write({ '.npmrc': 'script-shell=/bin/true\n', 'pytest.ini': '[pytest]\naddopts = -k none\n', 'run.log': 'x\n' });
    w.conclude('t1');
    expect(look(w, 't1').edits.settings).toEqual(['.npmrc', 'pytest.ini']);
  });
});

describe('what a task did to the checks of a project', () => {
  const edits = (before: Record<string, string>, after: Record<string, string>): BaseLook['edits'] => {
    const w = repository(before);
    w.checkpoint('t1');
    w.write(after);
    w.conclude('t1');
    return look(w, 't1').edits;
  };

  test('is told with the commands of before and now', () => {
    const scripts = (build: string, lint?: string) =>
      JSON.stringify({ scripts: { test: 'node --test', build, ...(lint && { lint }), start: 'node .' } });
    expect(edits({ 'package.json': scripts('tsc', 'eslint .') }, { 'package.json': scripts('true') }).scripts).toEqual([
      { path: 'package.json', part: 'build', was: 'tsc', is: 'true' },
      { path: 'package.json', part: 'lint', was: 'eslint .', is: null },
    ]);
    const makefile = (recipe: string) => `A := 1\n\ntest: all\n\t${recipe}\n\nall:\n\tcc a.c\n`;
    const found = edits({ Makefile: makefile('./a --all') }, { Makefile: makefile('./a --all; exit 0') });
    expect(found.scripts).toEqual([
      { path: 'Makefile', part: 'test', was: 'make all\n./a --all', is: 'make all\n./a --all; exit 0' },
    ]);
    expect(found.settings).toEqual(['Makefile']);
  });

  test('names a changed program that the test command starts, as files or a person name it', () => {
    const before = { 'package.json': '{ "scripts": { "test": "bash ./check.sh a" } }', 'check.sh': 'diff a b\n' };
    expect(edits(before, { 'check.sh': 'exit 0\n' }).settings).toEqual(['check.sh']);
    const w = repository({ 'check.sh': 'diff a b\n' });
    w.checkpoint('t1');
    w.write({ 'check.sh': 'exit 0\n' });
    w.conclude('t1');
    expect(look(w, 't1').edits.settings).toEqual([]);
    const said = w.ok({ op: 'base', action: 'look', key: 't1', line: './check.sh' }).data as unknown as BaseLook;
    expect(said.edits.settings).toEqual(['check.sh']);
  });

  test('names expected results that lost lines, and none that only got more', () => {
    const before = { '__snapshots__/a.js.snap': 'one\n', 'b.snap': 'one\n' };
    const after = { '__snapshots__/a.js.snap': 'one\ntwo\n', 'b.snap': 'two\n', 'c.snap': 'new\n' };
    expect(edits(before, after).expected).toEqual(['b.snap']);
  });

  test('names files that decide how tests end', () => {
    const before = { 'conftest.py': 'import os\n', '.gitignore': 'sitecustomize.py\n', '.npmrc': 'fund=false\n' };
    const plain = { 'conftest.py': 'import sys\n', '.npmrc': 'fund=true\n' };
    expect(edits(before, plain).hooks).toEqual([]);
    const deciding = {
      'conftest.py': 'def pytest_runtest_makereport(item, call):\n    pass\n',
      '.npmrc': 'script-shell=./x\n',
      'sitecustomize.py': 'x\n',
    };
    expect(edits(before, deciding).hooks).toEqual(['.npmrc', 'conftest.py', 'sitecustomize.py']);
  });

  test('names installed packages and programs that were changed by hand, and none that were installed', async () => {
    const w = repository({ 'a.js': 'a\n', '.gitignore': 'node_modules\n' });
    const install = (name: string) =>
      w.write({
        [`node_modules/${name}/package.json`]: '{}',
        [`node_modules/${name}/lib/run.js`]: 'run\n',
      });
    for (const name of ['runner', '@a/other', 'runner/node_modules/inner']) install(name);
    mkdirSync(join(w.root, 'node_modules/.bin'));
    symlinkSync('../runner/lib/run.js', join(w.root, 'node_modules/.bin/runner'));
    w.checkpoint('t1');
    const began = Math.floor(Date.now() / 1000);
    // times of a task are whole seconds
    await until('the next second', () => Math.floor(Date.now() / 1000) > began + 1);
    install('fresh');
    symlinkSync('../fresh/lib/run.js', join(w.root, 'node_modules/.bin/fresh'));
    w.write({ 'node_modules/.cache/x.js': 'cached\n', 'a.js': 'b\n' });
    expect(lookNow(w, 't1').edits.packages).toEqual([]);
    w.write({
      'node_modules/@a/other/lib/run.js': 'process.exit(0)\n',
      'node_modules/runner/node_modules/inner/more.js': 'process.exit(0)\n',
      'node_modules/.bin/jest': 'exit 0\n',
    });
    expect(lookNow(w, 't1').edits.packages).toEqual([
      'node_modules/.bin/jest',
      'node_modules/@a/other',
      'node_modules/runner/node_modules/inner',
    ]);
    w.conclude('t1');
    expect(look(w, 't1').edits.packages).toHaveLength(3);
  });
});

describe('the commit that is checked out', () => {
  const head = (w: Workspace, action: 'look' | 'copy', since?: string): HeadLook =>
    w.ok({ op: 'head', action, key: 'k1', ...(since && { since }) }).data as unknown as HeadLook;

  test('is a copy of its files alone, with how they are installed, built, linted and tested', () => {
    const w = repository({
      'package.json': JSON.stringify({
        scripts: { test: 'node --test', build: 'tsc', lint: 'biome check' },
        devDependencies: { left: '1.0.0' },
      }),
      'package-lock.json': '{}',
      'src/a.js': 'committed\n',
      '.gitignore': 'node_modules\n',
    });
    w.write({ 'src/a.js': 'unfinished\n', 'new.js': 'new\n', 'node_modules/left/index.js': 'left\n' });
    const before = w.files();
    const look = head(w, 'copy');
    expect(copied(w, 'k1', 'src/a.js')).toBe('committed\n');
    expect(copied(w, 'k1', 'new.js')).toBeNull();
    expect(copied(w, 'k1', 'node_modules/left/index.js')).toBeNull();
    expect(existsSync(join(w.side, 'base-k1', '.git', 'HEAD'))).toBe(true);
    expect(look).toMatchObject({
      tree: expect.stringMatching(/^[0-9a-f]{40}$/),
      ahead: null,
      project: {
        install: ['npm', 'ci'],
        build: ['npm', 'run', 'build'],
        lint: ['npm', 'run', 'lint'],
        test: ['npm', 'test'],
      },
    });
    expect(w.files()).toEqual(before);
    w.ok({ op: 'base', action: 'remove', key: 'k1' });
    expect(existsSync(join(w.side, 'base-k1'))).toBe(false);
  });

  test('gives its installed packages to a project that has none, where git ignores them', () => {
    const w = repository({ 'a.js': 'a\n', '.gitignore': 'node_modules\n' });
    head(w, 'copy');
    const copy = join(w.side, 'base-k1');
    for (const name of ['node_modules', '.venv']) {
      mkdirSync(join(copy, name));
      writeFileSync(join(copy, name, 'left'), 'installed');
    }
    w.ok({ op: 'base', action: 'give', key: 'k1' });
    expect(readFileSync(join(w.root, 'node_modules/left'), 'utf8')).toBe('installed');
    expect(existsSync(join(w.root, '.venv'))).toBe(false);
    // what is there stays
    w.write({ 'node_modules/left': 'own' });
    w.ok({ op: 'base', action: 'give', key: 'k1' });
    expect(readFileSync(join(w.root, 'node_modules/left'), 'utf8')).toBe('own');
  });

  test('is far from an earlier one, or installs something else', () => {
    const w = repository({ 'requirements.txt': 'left==1\n', 'a.py': 'a\n' });
    const first = head(w, 'look');
    expect(first.project).toMatchObject({
      install: ['python3', '-m', 'pip', 'install', '--user', '-r', 'requirements.txt'],
    });
    w.write({ 'a.py': 'b\n' });
    w.git('commit', '-qam', 'second');
    expect(head(w, 'look', first.commit)).toMatchObject({ ahead: 1, dependencies: first.dependencies });
    w.write({ 'requirements.txt': 'left==2\n' });
    w.git('commit', '-qam', 'third');
    const third = head(w, 'look', first.commit);
    expect(third.ahead).toBe(2);
    expect(third.dependencies).not.toBe(first.dependencies);
    expect(head(w, 'look', 'f'.repeat(40)).ahead).toBeNull();
  });

  test('is none in a repository without a commit', () => {
    const w = new Workspace();
    made.push(w);
    w.git('init', '-q', '-b', 'main');
    expect(w.ask({ op: 'head', action: 'copy', key: 'k1' })).toMatchObject({ ok: false });
  });
});
