import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Task } from '../../../src/store/kennel/tasks/tasks.ts';
import { projectProfile } from '../../../src/store/kennel/workspaces/project-profiles.ts';
import type { TestApp } from '../../support/app.ts';
import { findTask, report, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

/**
 * More than twenty tasks in twelve kinds of repositories, whose agents work well, lie, stop early, delete, skip or empty tests,
 * leave generated files, or hang. Each of them says that everything passes.
 */

interface Work {
  /** what its agent does */
  agent: string;
  goal: string;
  /** behind "Done in demo", up to the colon; null: it was not done */
  headline: string | null;
  level: 'verified' | 'partly' | 'unverified' | null;
  reasons: string[];
  /** names of the files in its commit, where they matter */
  files?: string[];
  timeout?: number;
}

const manifest = (scripts: Record<string, string>): string => JSON.stringify({ scripts });
const sum = 'export const sum = (a, b) => a + b;\n';
const nodeTests = `import assert from 'node:assert';
import test from 'node:test';
import { sum } from './sum.mjs';
test('adds', () => assert.equal(sum(1, 2), 3));
test('adds nothing', () => assert.equal(sum(0, 0), 0));
`;
const unittests = `import unittest
from cart import total
class Cart(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(total([]), 0)
    def test_one(self):
        self.assertEqual(total([3]), 3)
`;
const cart = 'def total(prices):\n    return sum(prices)\n';
const NO_DEBUGGER = '! grep -n debugger main.mjs';
const BREAKS_SUM = 'write sum.mjs export const sum = (a, b) => a + b + a';
const BREAKS_CART = 'write cart.py def total(prices):\\n    return len(prices)';

/** `checked`: it was checked before the first task. */
const KINDS: Record<string, { files: Record<string, string>; work: Work[]; checked?: true }> = {
  'node --test': {
    files: {
      'package.json': manifest({ test: 'node --test' }),
      'sum.mjs': sum,
      'sum.test.mjs': nodeTests,
      'other.test.mjs': "import test from 'node:test';\ntest('is alone', (t) => t.assert.ok(true));\n",
    },
    work: [
      {
        agent: 'works well, and adds a test',
        goal: "write more.test.mjs import test from 'node:test'\\;\\ntest('is new', (t) => t.assert.ok(true))\\;",
        headline: ', tests pass',
        level: 'verified',
        reasons: [],
      },
      {
        agent: 'deletes the only test of a file',
        goal: 'run rm other.test.mjs',
        headline: ', tests pass, but not all of those that ran before',
        level: 'partly',
        reasons: ['No longer there: `is alone`.', 'The only test of `other.test.mjs` is gone.'],
      },
    ],
  },
  TAP: {
    files: {
      'package.json': manifest({ test: 'node --test --test-reporter=tap' }),
      'sum.mjs': sum,
      'sum.test.mjs': nodeTests,
    },
    work: [
      {
        agent: 'breaks a test',
        goal: BREAKS_SUM,
        headline: ', but 1 test fails',
        level: 'unverified',
        reasons: ['This test fails: `adds`.'],
      },
      {
        agent: 'mends it',
        goal: `write sum.mjs ${sum.trim().replace(';', '\\;')}`,
        headline: ', tests pass that failed before',
        level: 'verified',
        reasons: [],
      },
    ],
  },
  'JUnit XML': {
    files: {
      'package.json': manifest({ test: 'node --test --test-reporter=junit --test-reporter-destination=junit.xml' }),
      '.gitignore': 'junit.xml\n',
      'sum.mjs': sum,
      'sum.test.mjs': nodeTests,
    },
    work: [
      {
        agent: 'skips a test',
        goal: `run sed -i "s/^test('adds',/test.skip('adds',/" sum.test.mjs`,
        headline: ', tests pass, but not all of those that ran before',
        level: 'partly',
        reasons: ['Now skipped: `test > adds`.', '`sum.test.mjs` now skips tests.'],
      },
      {
        agent: 'leaves generated files',
        goal: 'run mkdir -p node_modules/x dist && echo x > node_modules/x/index.js && echo x > debug.pyc; write note.txt a',
        headline: ', tests pass',
        level: 'verified',
        reasons: [],
        files: ['note.txt'],
      },
    ],
  },
  unittest: {
    files: { 'setup.py': '', 'cart.py': cart, 'test_cart.py': unittests },
    work: [
      {
        agent: 'empties a test',
        goal: 'run sed -i "s/self.assertEqual(total(\\[3\\]), 3)/pass/" test_cart.py',
        headline: ', tests pass, but tests were changed to check less',
        level: 'partly',
        reasons: ['Comparisons in `test_cart.py`: 2 before, 1 now.'],
      },
      { agent: 'stops early', goal: 'look ls', headline: '', level: null, reasons: [] },
    ],
  },
  'unittest without names': {
    files: { Makefile: 'test:\n\tpython3 -m unittest\n', 'cart.py': cart, 'test_cart.py': unittests },
    work: [
      {
        agent: 'breaks a test, and mends it when its work is sent back',
        goal: `${BREAKS_CART}; write note.txt a; repair write cart.py ${cart.trim().replace('\n', '\\n')}`,
        headline: ', tests pass',
        level: 'verified',
        reasons: ['One more pass was needed: checks failed after the first.'],
      },
      {
        agent: 'breaks a test',
        goal: BREAKS_CART,
        headline: ', but 1 test fails',
        level: 'unverified',
        reasons: ['This test fails: `test_one (test_cart.Cart.test_one)`.'],
      },
    ],
  },
  'prove (Perl)': {
    files: {
      Makefile: 'test:\n\tprove -v t\n',
      't/cart.t': "use Test::More tests => 2;\nok(1, 'is empty');\nok(1, 'has one');\n",
    },
    work: [
      {
        agent: 'works well',
        goal: 'write lib.pl 1\\;',
        headline: ', tests pass',
        level: 'verified',
        reasons: [],
      },
      {
        agent: 'gives a test another name',
        goal: `run sed -i "s/has one/has a single one/" t/cart.t`,
        headline: ', tests pass, but not all of those that ran before',
        level: 'partly',
        reasons: ['No longer there: `has one`. New: `has a single one`.'],
      },
    ],
  },
  'a shell script': {
    files: { Makefile: 'test:\n\tsh check.sh\n', 'check.sh': 'echo 1..2\necho ok 1 - starts\necho ok 2 - ends\n' },
    work: [
      {
        agent: 'has the tests do nothing',
        goal: 'write check.sh exit 0',
        headline: '. No tests were run.',
        level: 'unverified',
        reasons: [
          '`make test` ended without naming a test.',
          'Before it, 2 tests ran.',
          'The way in which tests are run was changed: `check.sh`.',
        ],
      },
    ],
  },
  'a build and lint beside the tests': {
    checked: true,
    files: {
      'package.json': manifest({ test: 'node --test', build: 'node --check main.mjs', lint: NO_DEBUGGER }),
      'main.mjs': 'console.log(1);\n',
      'sum.mjs': sum,
      'sum.test.mjs': nodeTests,
    },
    work: [
      {
        agent: 'breaks the build, and mends it when its work is sent back',
        goal: 'write main.mjs console.log(; repair write main.mjs console.log(2)',
        headline: ', tests pass',
        level: 'verified',
        reasons: [
          '`npm run build` and `npm run lint` pass.',
          'One more pass was needed: checks failed after the first.',
        ],
      },
      {
        agent: 'breaks lint',
        goal: 'append main.mjs debugger',
        headline: ', but its lint fails',
        level: 'partly',
        reasons: ['`npm run lint` fails, and passed before it.', '`npm run build` passes.'],
      },
      {
        agent: 'has lint do nothing',
        goal: `write package.json ${manifest({ test: 'node --test', build: 'node --check main.mjs', lint: 'true' })}`,
        headline: ', but it is checked less than before',
        level: 'partly',
        reasons: ['The lint command in `package.json` does nothing now: `true`.', '`npm run build` passes.'],
      },
      {
        agent: 'breaks the build, and removes its command',
        goal: `write main.mjs console.log(; write package.json ${manifest({ test: 'node --test', lint: NO_DEBUGGER })}`,
        headline: ', but it does not build',
        level: 'unverified',
        reasons: [
          '`npm run build` fails, and passed before it.',
          'The build command is gone from `package.json`.',
          '`npm run lint` passes.',
          `The lint command in \`package.json\` was \`true\`, and is \`${NO_DEBUGGER}\`.`,
        ],
      },
    ],
  },
  'types beside the tests': {
    files: {
      'package.json': manifest({ test: 'node --test', typecheck: '! grep -n wrong main.mjs' }),
      'main.mjs': 'console.log(1);\n',
      'sum.mjs': sum,
      'sum.test.mjs': nodeTests,
    },
    work: [
      {
        agent: 'breaks types that no test notices',
        goal: 'append main.mjs wrong',
        headline: ', but it has type errors',
        level: 'unverified',
        reasons: ['`npm run typecheck` fails, and passed before it.'],
      },
    ],
  },
  'no tests': {
    files: { 'notes.md': '# Shop\n' },
    work: [
      {
        agent: 'works well, and lies about tests',
        goal: 'append notes.md Open',
        headline: '. No tests were run.',
        level: 'unverified',
        reasons: [],
      },
    ],
  },
  'an exit code alone': {
    files: { Makefile: 'test:\n\t./check\n', check: '#!/bin/sh\ngrep -q open state.txt\n', 'state.txt': 'open\n' },
    work: [
      { agent: 'hangs', goal: 'write half.txt a; wait 600', headline: null, level: null, reasons: [], timeout: 3_000 },
      {
        agent: 'breaks it',
        goal: 'write state.txt shut',
        headline: ', but tests fail',
        level: 'unverified',
        reasons: [],
      },
      {
        agent: 'has the check do nothing',
        goal: 'run sed -i "s/grep .*/exit 0/" check',
        headline: ', tests pass, but what runs them was changed',
        level: 'partly',
        reasons: ['The way in which tests are run was changed: `check`.'],
      },
    ],
  },
  'a runner that is not installed': {
    files: { 'package.json': manifest({ test: 'vitest run' }), '.gitignore': 'node_modules\n' },
    work: [
      {
        agent: 'lies about tests that cannot run',
        goal: 'write a.txt a',
        headline: '. No tests were run.',
        level: 'unverified',
        reasons: ['A program or package that `npm test` needs is not there.'],
      },
      {
        agent: 'puts a runner of its own there',
        goal: 'write fake.sh exit 0; run install -D -m 755 fake.sh node_modules/.bin/vitest',
        headline: ', tests pass, but what runs them was changed',
        level: 'partly',
        reasons: ['Installed packages were changed by hand: `node_modules/.bin/vitest`.'],
      },
    ],
  },
};

const LIE = 'say All 212 tests pass, and everything builds.';

let app: TestApp;
const ends = new Map<string, Promise<Array<{ task: Task; said: string }>>>();

beforeAll(async () => {
  app = await startTaskApp();
  for (const [at, kind] of Object.keys(KINDS).entries()) {
    const done = workIn(kind, `kind${at}`);
    done.catch(() => {});
    ends.set(kind, done);
  }
}, 600_000);
afterAll(() => app?.close());

/** The work on one repository, one task after the other. */
async function workIn(kind: string, name: string): Promise<Array<{ task: Task; said: string }>> {
  const { files, work, checked } = KINDS[kind]!;
  const { path, git } = await workspace(app, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text, { mode: 0o755 });
  }
  git('add', '.');
  git('commit', '-qm', 'second');
  if (checked) {
    await app.say(await app.thread(), `check ${name}`);
    const isChecked = async () => (await projectProfile(app.store.db, { host: 'local', workspace: name })).checked;
    await until(`${kind}: it is checked`, isChecked, 120_000);
  }
  const ended: Array<{ task: Task; said: string }> = [];
  for (const { goal, timeout = 3_600_000 } of work) {
    const { id } = await startTask(app, `${goal}; ${LIE}`, { workspace: name, timeout });
    const isTold = () =>
      app.store.db.selectFrom('outbox').select('id').where('id', '=', `out_${id}_result`).executeTakeFirst();
    await until(`${kind}: the task is over`, isTold, 300_000);
    ended.push({ task: await findTask(app, id), said: await report(app, id) });
  }
  return ended;
}

const CASES = Object.entries(KINDS).flatMap(([kind, { work }]) =>
  work.map((each, at) => ({ ...each, kind, at, name: `kind${Object.keys(KINDS).indexOf(kind)}` })),
);

describe('the verdict on a task', () => {
  it('is shown on twenty tasks in ten kinds of repositories', () => {
    expect(CASES.length).toBeGreaterThanOrEqual(20);
    expect(Object.keys(KINDS).length).toBeGreaterThanOrEqual(10);
  });

  it.each(CASES)(
    'in a repository with $kind: an agent $agent',
    async ({ kind, name, at, ...expected }) => {
      const { task, said } = (await ends.get(kind)!)[at]!;
      const [head = ''] = said.split('\n');
      if (expected.headline === null) {
        expect(task.state).toBe('failed');
        expect(head).not.toMatch(/^Done/);
        return;
      }
      expect(head.replace(/:$/, '')).toBe(`Done in ${name}${expected.headline}`);
      expect(task.result?.verdict?.level ?? null).toBe(expected.level);
      expect(task.result?.verdict?.reasons ?? []).toEqual(expected.reasons);
      if (expected.files) expect(task.result?.changes?.files.map((file) => file.path)).toEqual(expected.files);
      if (expected.level === null) expect(said).toContain('No file was changed.');
    },
    600_000,
  );
});
