import { describe, expect, it } from 'vitest';
import type { CheckedBy, TestEdits } from '../../../src/contracts/workspace-ops.ts';
import type { PartCheck } from '../../../src/domain/tasks/checks/part-checks.ts';
import type { TestCase } from '../../../src/domain/tasks/checks/test-results.ts';
import {
  brokenTests,
  passesText,
  passPrompt,
  type TestRun,
  testBudget,
  verdictOf,
} from '../../../src/domain/tasks/checks/verdict.ts';
import { verdictHeadline } from '../../../src/domain/tasks/report.ts';
import { sayIn } from '../../../src/domain/texts/say.ts';

/** `+ name`, `- name` and `~ name` for passed, failed and skipped. */
const run = (code: number | null, cases: string[] = [], state: TestRun['state'] = 'ended'): TestRun => ({
  state,
  command: 'npm test',
  code,
  ms: 60_000,
  cases: cases.map((each) => ({
    name: each.slice(2),
    outcome: ({ '+': 'passed', '-': 'failed', '~': 'skipped' } as const)[each[0] as '+'],
    ms: null,
  })),
});
const none: TestEdits = { weakened: [], settings: [] };
const weakened = (tests: [number, number], checks: [number, number], skips: [number, number]): TestEdits => ({
  weakened: [{ path: 'a.test.ts', tests, checks, skips }],
  settings: [],
});
const group = (name: string, tests: number, outcome: TestCase['outcome'] = 'passed'): TestCase => ({
  name,
  outcome,
  ms: null,
  group: true,
  tests,
});

/** What happened; before; after; the verdict; how "Done in demo" goes on; what the reasons say. */
const CASES: Array<[string, TestRun | null, TestRun | null, TestEdits, string, string, RegExp]> = [
  ['all pass, as before', run(0, ['+ a']), run(0, ['+ a', '+ b']), none, 'verified', ', tests pass', /^$/],
  [
    'a failing test is mended',
    run(1, ['- a']),
    run(0, ['+ a']),
    none,
    'verified',
    ', tests pass that failed before',
    /^$/,
  ],
  [
    'a test breaks',
    run(0, ['+ a', '+ b']),
    run(1, ['+ a', '- b']),
    none,
    'unverified',
    ', but 1 test fails',
    /^This test fails: `b`\.$/,
  ],
  [
    'two break, and one was broken',
    run(1, ['+ a', '+ b', '- c']),
    run(1, ['- a', '- b', '- c']),
    none,
    'unverified',
    ', but 2 tests fail',
    /`a`, `b`.* 1 test failed before it, too: `c`/,
  ],
  [
    'only old failures are left',
    run(1, ['+ a', '- c', '- d']),
    run(1, ['+ a', '- c', '- d']),
    none,
    'partly',
    ', and 2 tests fail as before',
    /2 tests failed before it, too: `c`, `d`/,
  ],
  [
    'a test fails under a command that says it went well',
    run(0, ['+ a']),
    run(0, ['- a']),
    none,
    'unverified',
    ', but 1 test fails',
    /`a`/,
  ],
  ['a new test fails', run(0, ['+ a']), run(1, ['+ a', '- b']), none, 'unverified', ', but 1 test fails', /`b`/],
  [
    'a test is deleted',
    run(0, ['+ a', '+ b']),
    run(0, ['+ a']),
    none,
    'partly',
    ', tests pass, but not all of those that ran before',
    /No longer there: `b`/,
  ],
  [
    'a failing test is deleted',
    run(1, ['+ a', '- b']),
    run(0, ['+ a']),
    none,
    'verified',
    ', tests pass that failed before',
    /^$/,
  ],
  [
    'a test is skipped',
    run(0, ['+ a', '+ b']),
    run(0, ['+ a', '~ b']),
    none,
    'partly',
    ', tests pass, but not all of those that ran before',
    /Now skipped: `b`/,
  ],
  [
    'a test is emptied',
    run(0, ['+ a']),
    run(0, ['+ a']),
    weakened([1, 1], [3, 0], [0, 0]),
    'partly',
    ', tests pass, but tests were changed to check less',
    /Comparisons in `a.test.ts`: 3 before, 0 now\./,
  ],
  [
    'a test file is deleted',
    null,
    run(0, ['+ a']),
    weakened([2, 0], [3, 0], [0, 0]),
    'partly',
    ', tests pass, but tests were changed to check less',
    /All 2 tests of `a.test.ts` are gone/,
  ],
  [
    'a build fails that went well',
    run(0, ['+ a']),
    run(2),
    none,
    'unverified',
    '. No tests were run.',
    /ended without naming a test.*Before it, 1 test ran/,
  ],
  ['a plain command fails', run(0), run(2), none, 'unverified', ', but tests fail', /^$/],
  ['a plain command fails, as before', run(2), run(2), none, 'unverified', ', but tests fail, as before', /^$/],
  ['a plain command passes', run(0), run(0), none, 'verified', ', tests pass', /^$/],
  [
    'the command says nothing of the tests any more',
    run(0, ['+ a']),
    run(0),
    none,
    'unverified',
    '. No tests were run.',
    /Before it, 1 test ran/,
  ],
  ['no command is known', null, null, none, 'unverified', '. No tests were run.', /^$/],
  [
    'the runner is missing',
    run(0, ['+ a']),
    run(127, [], 'no runner'),
    none,
    'unverified',
    '. No tests were run.',
    /needs is not there/,
  ],
  [
    'the runner finds no test',
    run(0, ['+ a']),
    run(0, [], 'no tests'),
    none,
    'unverified',
    '. No tests were run.',
    /found none.*Before it, 1 test ran/,
  ],
  [
    'the tests hang',
    run(0, ['+ a']),
    run(null, ['+ a'], 'timed out'),
    none,
    'unverified',
    ', but its tests did not end in time',
    /stopped after 1 min/,
  ],
  ['nothing to compare with', null, run(0, ['+ a']), none, 'partly', ', tests pass', /not run on the state before it/],
  [
    'nothing to compare failures with',
    run(null, [], 'no runner'),
    run(1, ['- a']),
    none,
    'unverified',
    ', but 1 test fails',
    /Whether they failed before is not known/,
  ],
  ['the project had no tests', run(0, [], 'no tests'), run(0, ['+ a']), none, 'verified', ', tests pass', /^$/],
  [
    'another way to run them',
    run(0),
    run(0),
    { weakened: [], settings: ['package.json'] },
    'partly',
    ', tests pass, but what runs them was changed',
    /way in which tests are run was changed: `package.json`/,
  ],
  [
    'another way to run them, and every test is still there',
    run(0, ['+ a']),
    run(0, ['+ a']),
    { weakened: [], settings: ['package.json'] },
    'verified',
    ', tests pass',
    /^$/,
  ],
];

describe('the verdict on a task', () => {
  it.each(CASES)('%s', (_, before, after, edits, level, headline, reasons) => {
    const verdict = verdictOf({ after, before, edits });
    expect({ level: verdict.level, headline: verdict.headline }).toEqual({ level, headline });
    expect(verdict.reasons.join(' ')).toMatch(reasons);
  });

  it('is never that all is well over a failed test, whatever came before', () => {
    for (const before of [null, run(0, ['+ a']), run(1, ['- a']), run(null, [], 'timed out'), run(0)]) {
      for (const after of [run(0, ['- a']), run(1, ['- a']), run(1), run(null, [], 'timed out'), null]) {
        const { level, headline } = verdictOf({ after, before, edits: none });
        expect(level).not.toBe('verified');
        expect(headline).toMatch(/fail|not end|No tests were run/);
      }
    }
  });

  it('takes the tests of a file or class as there while it passes, and misses some when their number falls', () => {
    const after = { ...run(0), cases: [group('a.test.ts', 3)] };
    const before = {
      ...run(1),
      cases: [group('a.test.ts', 3), { name: 'a.test.ts > x', outcome: 'passed' as const, ms: 1 }],
    };
    expect(verdictOf({ after, before, edits: none }).level).toBe('verified');
    const fewer = verdictOf({ after: { ...after, cases: [group('a.test.ts', 2)] }, before, edits: none });
    expect(fewer.level).toBe('partly');
    expect(fewer.reasons).toEqual(['Fewer tests: `a.test.ts (3 before, 2 now)`.']);
    expect(verdictOf({ after, before, edits: none }).passed).toBe(3);
    const named = { name: 'a.test.ts > x', outcome: 'failed' as const, ms: 1 };
    expect(verdictOf({ after: { ...after, cases: [...after.cases, named] }, before, edits: none })).toMatchObject({
      passed: 2,
      failed: 1,
    });
  });

  it('believes a command that goes well where its runner names failed tests only', () => {
    expect(verdictOf({ after: run(0), before: run(1, ['- a']), edits: none })).toMatchObject({
      level: 'verified',
      headline: ', tests pass that failed before',
    });
  });

  it('names new tests beside those that are gone, because one may have got another name', () => {
    const verdict = verdictOf({ after: run(0, ['+ a', '+ c']), before: run(0, ['+ a', '+ b']), edits: none });
    expect(verdict.reasons).toEqual(['No longer there: `b`. New: `c`.']);
    expect(verdict.level).toBe('partly');
  });

  it('does not say that tests are gone that a broken file took along', () => {
    const verdict = verdictOf({ after: run(1, ['- test_b.py']), before: run(0, ['+ a', '+ b']), edits: none });
    expect(verdict.reasons).toEqual(['This test fails: `test_b.py`.', 'Not run any more: `a`, `b`.']);
  });

  it('does not miss tests where a part of the output is missing, and says so', () => {
    const verdict = verdictOf({
      after: { ...run(0, ['+ a']), cut: true },
      before: run(0, ['+ a', '+ b']),
      edits: none,
    });
    expect(verdict.level).toBe('partly');
    expect(verdict.reasons).toEqual(['Their output was too long to see whether all tests still run.']);
  });

  it('names five tests at most, each on one line', () => {
    const names = Array.from({ length: 8 }, (_, at) => `- te\nst\`${at}`);
    const [reason] = verdictOf({ after: run(1, names), before: run(0, []), edits: none }).reasons;
    expect(reason).toBe('These tests fail: `te st 0`, `te st 1`, `te st 2`, `te st 3`, `te st 4` and 3 more.');
  });

  it.each<[string, TestRun | null, TestRun | null, string[] | null]>([
    ['a test breaks', run(0, ['+ a', '+ b']), run(1, ['+ a', '- b']), ['b']],
    ['one breaks, and one was broken', run(1, ['+ a', '- c']), run(1, ['- a', '- c']), ['a']],
    ['a new test fails', run(null, [], 'no tests'), run(1, ['- a']), ['a']],
    ['the build breaks', run(1, ['- a', '+ b']), run(2), []],
    ['all pass', run(1, ['- a']), run(0, ['+ a']), null],
    ['the same failed before', run(1, ['- a']), run(1, ['- a']), null],
    ['the command failed before, too', run(2), run(2), null],
    ['no result of before', null, run(1, ['- a']), null],
    ['no result in time before', run(null, [], 'timed out'), run(1, ['- a']), null],
    ['no result in time now', run(0, ['+ a']), run(null, [], 'timed out'), null],
    ['a missing program', run(0, ['+ a']), run(null, [], 'no runner'), null],
    ['no test command', run(0, ['+ a']), null, null],
  ])('has another pass before it only where the work broke something: %s', (_, before, after, broken) => {
    expect(brokenTests({ after, before })).toEqual(broken);
  });

  it('tells the agent which tests broke, and the last lines of their output', () => {
    const output = Array.from({ length: 100 }, (_, at) => `line ${at} of the output`).join('\n');
    const told = passPrompt({ command: 'npm test', broken: ['a\n`b`', ...Array(30).fill('c')], output });
    expect(told).toMatch(/^The work is not done: `npm test` fails/);
    expect(told).toContain('\n- `a b`\n- `c`\n');
    expect(told).toContain('\n- and 11 more\n');
    expect(told).toContain('line 99 of the output');
    expect(told).not.toContain('line 59 of');
    expect(passPrompt({ command: 'make', broken: [], output: 'x'.repeat(1e6) }).length).toBeLessThan(5_000);
  });

  it('says whether more passes helped', () => {
    expect(passesText(1, false)).toBe('One more pass was needed: checks failed after the first.');
    expect(passesText(2, false)).toBe('2 more passes were needed: checks failed after the first.');
    expect(passesText(1, true)).toBe('Its agent had one more pass to repair that.');
    expect(passesText(2, true)).toBe('Its agent had 2 more passes to repair that.');
  });

  it('waits for the tests as long as they took before, and three times as long', () => {
    expect(testBudget(null, 300_000)).toBe(300_000);
    expect(testBudget(run(0), 300_000)).toBe(300_000);
    expect(testBudget({ ...run(0), ms: 240_000 }, 300_000)).toBe(720_000);
    expect(testBudget({ ...run(0), ms: 3_000_000 }, 300_000)).toBe(3_600_000);
    expect(testBudget({ ...run(null, [], 'timed out'), ms: 3_000_000 }, 300_000)).toBe(300_000);
  });
});

describe('a test that is known to pass only sometimes', () => {
  it('does not count against a task, and is named', () => {
    const evidence = { before: run(0, ['+ a', '+ b']), after: run(1, ['+ a', '- b']), edits: none, flaky: ['b'] };
    expect(verdictOf(evidence)).toMatchObject({
      level: 'partly',
      headline: ', but 1 test fails now and then',
      reasons: ['Known to pass only sometimes: `b`.'],
    });
    expect(brokenTests(evidence)).toBeNull();
    const also = { ...evidence, after: run(1, ['- a', '- b']) };
    expect(verdictOf(also).level).toBe('unverified');
    expect(brokenTests(also)).toEqual(['a']);
  });
});

/** `+` passed, `-` failed, `…` ran out of time; after, then before (`?`: not known). */
const part = (name: PartCheck['part'], ends: string): PartCheck => ({
  part: name,
  command: `npm run ${name}`,
  state: ({ '+': 'passed', '-': 'failed', '…': 'timed out' } as const)[ends[0] as '+'],
  passedBefore: ends[1] === '?' ? null : ends[1] === '+',
  output: '',
});

describe('build and lint', () => {
  const pass = run(0, ['+ a']);
  const fail = run(1, ['- a']);
  /** What happened; before; after; build; lint; the verdict; its headline; its reasons. */
  const cases: Array<[string, TestRun | null, TestRun | null, string, string, string, string, string[]]> = [
    ['pass', pass, pass, '++', '++', 'verified', ', tests pass', ['`npm run build` and `npm run lint` pass.']],
    [
      'build breaks',
      pass,
      pass,
      '-+',
      '',
      'unverified',
      ', but it does not build',
      ['`npm run build` fails, and passed before it.'],
    ],
    [
      'build may be older',
      pass,
      pass,
      '-?',
      '',
      'unverified',
      ', but it does not build',
      ['`npm run build` fails. Whether it passed before is not known.'],
    ],
    [
      'build was broken',
      pass,
      pass,
      '--',
      '',
      'partly',
      ', but it does not build, as before',
      ['`npm run build` fails, as before.'],
    ],
    [
      'build is too slow',
      pass,
      pass,
      '…+',
      '',
      'partly',
      ', tests pass',
      ['`npm run build` did not end in time, and passed before it.'],
    ],
    [
      'lint breaks',
      pass,
      pass,
      '',
      '-+',
      'partly',
      ', but its lint fails',
      ['`npm run lint` fails, and passed before it.'],
    ],
    ['lint was broken', pass, pass, '', '--', 'partly', ', tests pass', ['`npm run lint` fails, as before.']],
    [
      'a test and the build break',
      pass,
      fail,
      '-+',
      '',
      'unverified',
      ', but 1 test fails',
      ['This test fails: `a`.', '`npm run build` fails, and passed before it.'],
    ],
    [
      'there are no tests, and the build breaks',
      null,
      null,
      '-+',
      '',
      'unverified',
      ', but it does not build',
      ['`npm run build` fails, and passed before it.', 'No tests were run.'],
    ],
    [
      'there are no tests, and the build passes',
      null,
      null,
      '++',
      '',
      'unverified',
      '. No tests were run.',
      ['`npm run build` passes.'],
    ],
    [
      'only an old test fails, and the build breaks',
      fail,
      fail,
      '-+',
      '',
      'unverified',
      ', but it does not build',
      ['`npm run build` fails, and passed before it.', '1 test failed before it, too: `a`.'],
    ],
  ];
  it.each(cases)('count beside the tests: %s', (_, before, after, build, lint, level, headline, reasons) => {
    const parts = [...(build ? [part('build', build)] : []), ...(lint ? [part('lint', lint)] : [])];
    expect(verdictOf({ before, after, edits: none, parts })).toMatchObject({ level, headline, reasons });
  });

  it('that break are never hidden by a test that passes only sometimes', () => {
    const evidence = { before: pass, after: fail, edits: none, flaky: ['a'] };
    expect(verdictOf({ ...evidence, parts: [part('build', '-+')] })).toMatchObject({
      level: 'unverified',
      headline: ', but it does not build',
    });
  });
});

describe('a check that was changed', () => {
  const names = run(0, ['+ a']);
  const plain = run(0);
  const script = (was: string, is: string | null, part: CheckedBy = 'test', path = 'package.json'): TestEdits => ({
    ...none,
    ...(part === 'test' && { settings: [path] }),
    scripts: [{ path, part, was, is }],
  });
  const CHANGED = ', tests pass, but what runs them was changed';
  const LESS = ', but it is checked less than before';
  /** What happened; what the tests said before and after; the changes; the verdict; its headline; its reasons. */
  const cases: Array<[string, TestRun | null, TestEdits, string, string, string[]]> = [
    [
      'the tests end well whatever happens',
      plain,
      script('node a.js', 'node a.js || true'),
      'partly',
      CHANGED,
      ['The test command in `package.json` cannot fail any more: `node a.js || true`.'],
    ],
    [
      'a recipe ends with exit 0',
      plain,
      script('./a', './a; exit 0', 'test', 'Makefile'),
      'partly',
      CHANGED,
      ['The test command in `Makefile` cannot fail any more: `./a; exit 0`.'],
    ],
    [
      'a recipe whose failure is ignored',
      plain,
      script('./a', '-./a', 'test', 'Makefile'),
      'partly',
      CHANGED,
      ['The test command in `Makefile` cannot fail any more: `-./a`.'],
    ],
    [
      'a part of the tests is left out',
      plain,
      script('make all\n./a\n./b', 'make all\n./a', 'test', 'Makefile'),
      'partly',
      CHANGED,
      ['The test command in `Makefile` no longer runs `./b`.'],
    ],
    [
      'every test is still there by name',
      names,
      script('node a.js', 'node a.js || true'),
      'verified',
      ', tests pass',
      [],
    ],
    [
      'the build does nothing',
      names,
      script('tsc', 'true', 'build'),
      'partly',
      LESS,
      ['The build command in `package.json` does nothing now: `true`.'],
    ],
    [
      'the lint is words',
      names,
      script('eslint .', 'echo "no problems" && exit 0', 'lint'),
      'partly',
      LESS,
      ['The lint command in `package.json` does nothing now: `echo "no problems" && exit 0`.'],
    ],
    [
      'types are not checked any more',
      names,
      script('tsc --noEmit', null, 'types'),
      'partly',
      LESS,
      ['The type command is gone from `package.json`.'],
    ],
    [
      'another build',
      names,
      script('webpack', 'vite build', 'build'),
      'verified',
      ', tests pass',
      ['`npm run build` passes.', 'The build command in `package.json` was `webpack`, and is `vite build`.'],
    ],
    [
      'more of it',
      names,
      script('tsc', 'tsc && vite build', 'build'),
      'verified',
      ', tests pass',
      ['`npm run build` passes.', 'The build command in `package.json` was `tsc`, and is `tsc && vite build`.'],
    ],
    [
      'a runner in the place of the installed one',
      names,
      { ...none, packages: ['node_modules/.bin/vitest'] },
      'partly',
      CHANGED,
      ['Installed packages were changed by hand: `node_modules/.bin/vitest`.'],
    ],
    [
      'a hook that decides how tests end',
      names,
      { ...none, settings: ['conftest.py'], hooks: ['conftest.py'] },
      'partly',
      CHANGED,
      ['Changed files can decide how tests end: `conftest.py`.'],
    ],
    [
      'snapshots that were written again',
      names,
      { ...none, expected: ['a.snap'] },
      'partly',
      ', tests pass, but expected results were rewritten',
      ['Expected results were rewritten: `a.snap`.'],
    ],
  ];
  it.each(cases)('is named: %s', (_, tests, edits, level, headline, reasons) => {
    const isBuild = edits.scripts?.some(({ part }) => part === 'build');
    const parts = isBuild ? [part('build', '++')] : [];
    const verdict = verdictOf({ before: tests, after: tests, edits, parts });
    expect({ level: verdict.level, headline: verdict.headline, reasons: verdict.reasons }).toEqual({
      level,
      headline,
      reasons,
    });
  });

  it('counts for nothing in a project that had no tests', () => {
    const edits = script('x', 'node --test');
    expect(verdictOf({ before: run(0, [], 'no tests'), after: plain, edits })).toMatchObject({ level: 'verified' });
  });

  it('is said in every language', () => {
    for (const language of ['de', 'es', 'fr', 'hi', 'pt'])
      for (const headline of [
        CHANGED,
        LESS,
        ', tests pass, but expected results were rewritten',
        ', but it has type errors',
      ])
        expect(verdictHeadline(headline, sayIn(language))).not.toBe(headline);
  });
});

describe('types', () => {
  const pass = run(0, ['+ a']);
  it.each<[string, string, string, string, string[]]>([
    ['break', '-+', 'unverified', ', but it has type errors', ['`npm run types` fails, and passed before it.']],
    ['were broken', '--', 'partly', ', tests pass', ['`npm run types` fails, as before.']],
    ['hold', '++', 'verified', ', tests pass', ['`npm run types` passes.']],
  ])('count beside the tests: %s', (_, types, level, headline, reasons) => {
    const parts = [part('types', types)];
    expect(verdictOf({ before: pass, after: pass, edits: none, parts })).toMatchObject({ level, headline, reasons });
  });

  it('are named beside a build and a lint that pass', () => {
    const parts = [part('build', '++'), part('types', '++'), part('lint', '++')];
    expect(verdictOf({ before: pass, after: pass, edits: none, parts }).reasons).toEqual([
      '`npm run build` and `npm run types` pass.',
      '`npm run lint` passes.',
    ]);
  });
});
