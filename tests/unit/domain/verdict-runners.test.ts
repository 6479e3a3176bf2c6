import { describe, expect, it } from 'vitest';
import type { TestEdits } from '../../../src/contracts/workspace-ops.ts';
import { readTests } from '../../../src/domain/tasks/checks/test-results.ts';
import { type TestRun, verdictOf } from '../../../src/domain/tasks/checks/verdict.ts';
import { reportText } from '../../../src/domain/tasks/report.ts';

/** What agents do, in repositories with each of ten runners, read from what these print. */

type Outcome = 'passed' | 'failed' | 'skipped';
type Results = Record<string, Outcome>;
const lines = (of: Results, words: Record<Outcome, (name: string) => string>): string =>
  Object.entries(of)
    .map(([name, outcome]) => words[outcome](name))
    .join('\n');

const PRINTS: Record<string, (of: Results) => string> = {
  'node --test': (of) =>
    lines(of, {
      passed: (name) => `✔ ${name} (0.5ms)`,
      failed: (name) => `✖ ${name} (0.5ms)`,
      skipped: (name) => `﹣ ${name} (0.5ms) # SKIP`,
    }),
  TAP: (of) =>
    `TAP version 13\n${lines(of, {
      passed: (name) => `ok 1 - ${name}`,
      failed: (name) => `not ok 1 - ${name}`,
      skipped: (name) => `ok 1 - ${name} # SKIP`,
    })}`,
  Vitest: (of) => {
    const failed = Object.values(of).filter((outcome) => outcome === 'failed').length;
    const counted = `${Object.keys(of).length} tests${failed > 0 ? ` | ${failed} failed` : ''}`;
    return ` ${failed > 0 ? '❯' : '✓'} a.test.ts (${counted}) 5ms\n${lines(of, {
      passed: (name) => `   ✓ cart > ${name} 1ms`,
      failed: (name) => `   × cart > ${name} 1ms`,
      skipped: (name) => `   ↓ cart > ${name}`,
    })}`;
  },
  'Jest JSON': (of) =>
    JSON.stringify({
      testResults: [
        {
          name: '/workspace/a.test.js',
          assertionResults: Object.entries(of).map(([title, outcome]) => ({
            ancestorTitles: ['cart'],
            title,
            status: outcome === 'skipped' ? 'pending' : outcome,
          })),
        },
      ],
    }),
  pytest: (of) =>
    lines(of, {
      passed: (name) => `tests/test_a.py::test_${name} PASSED [ 50%]`,
      failed: (name) => `tests/test_a.py::test_${name} FAILED [ 50%]`,
      skipped: (name) => `tests/test_a.py::test_${name} SKIPPED [ 50%]`,
    }),
  unittest: (of) =>
    lines(of, {
      passed: (name) => `test_${name} (tests.A.test_${name}) ... ok`,
      failed: (name) => `test_${name} (tests.A.test_${name}) ... FAIL`,
      skipped: (name) => `test_${name} (tests.A.test_${name}) ... skipped 'later'`,
    }),
  'go test -json': (of) => {
    const event = (Action: string) => (name: string) => JSON.stringify({ Action, Package: 'x', Test: `Test${name}` });
    return lines(of, { passed: event('pass'), failed: event('fail'), skipped: event('skip') });
  },
  cargo: (of) =>
    `running ${Object.keys(of).length} tests\n${lines(of, {
      passed: (name) => `test tests::${name} ... ok`,
      failed: (name) => `test tests::${name} ... FAILED`,
      skipped: (name) => `test tests::${name} ... ignored`,
    })}`,
  'JUnit XML': (of) =>
    `<testsuite>${lines(of, {
      passed: (name) => `<testcase classname="Cart" name="${name}"/>`,
      failed: (name) => `<testcase classname="Cart" name="${name}"><failure/></testcase>`,
      skipped: (name) => `<testcase classname="Cart" name="${name}"><skipped/></testcase>`,
    })}</testsuite>`,
  Gradle: (of) =>
    lines(of, {
      passed: (name) => `CartTest > ${name} PASSED`,
      failed: (name) => `CartTest > ${name} FAILED`,
      skipped: (name) => `CartTest > ${name} SKIPPED`,
    }),
};

const none: TestEdits = { weakened: [], settings: [] };
const deleted: TestEdits = { weakened: [{ path: 'a', tests: [3, 2], checks: [3, 2], skips: [0, 0] }], settings: [] };
const skips: TestEdits = { weakened: [{ path: 'a', tests: [3, 3], checks: [3, 3], skips: [0, 1] }], settings: [] };
const GOOD: Results = { adds: 'passed', pays: 'passed', ships: 'passed' };

/** What the agent did; the tests before and after it; its edits of tests; the verdict and how the report begins. */
const AGENTS: Array<[string, Results, Results | TestRun['state'], TestEdits, string, string]> = [
  ['works well', GOOD, { ...GOOD, sends: 'passed' }, none, 'verified', ', tests pass'],
  ['repairs a test', { ...GOOD, pays: 'failed' }, GOOD, none, 'verified', ', tests pass that failed before'],
  ['leaves generated files', GOOD, GOOD, none, 'verified', ', tests pass'],
  ['lies that all pass', GOOD, { ...GOOD, pays: 'failed' }, none, 'unverified', ', but 1 test fails'],
  [
    'stops before its repair is done',
    { ...GOOD, pays: 'failed' },
    { ...GOOD, pays: 'failed' },
    none,
    'partly',
    ', and 1 test fails as before',
  ],
  [
    'deletes a test',
    GOOD,
    { adds: 'passed', pays: 'passed' },
    deleted,
    'partly',
    ', tests pass, but not all of those that ran before',
  ],
  [
    'skips a test',
    GOOD,
    { ...GOOD, pays: 'skipped' },
    skips,
    'partly',
    ', tests pass, but not all of those that ran before',
  ],
  ['deletes all tests', GOOD, 'no tests', none, 'unverified', '. No tests were run.'],
  ['hangs in a test', GOOD, 'timed out', none, 'unverified', ', but its tests did not end in time'],
  ['removes the runner', GOOD, 'no runner', none, 'unverified', '. No tests were run.'],
];

describe.each(Object.entries(PRINTS))('with %s', (_, print) => {
  const run = (results: Results): TestRun => ({
    state: 'ended',
    command: 'the tests',
    code: Object.values(results).includes('failed') ? 1 : 0,
    ms: 100,
    cases: readTests(print(results)),
  });

  it.each(AGENTS)('an agent that %s', (_what, before, after, edits, level, headline) => {
    const ended = typeof after === 'string' ? { ...run({}), state: after, code: null } : run(after);
    const verdict = verdictOf({ before: run(before), after: ended, edits });
    expect([verdict.level, verdict.headline]).toEqual([level, headline]);
    const files = [{ path: 'a', status: 'modified', added: 1, removed: 1 }];
    const report = reportText({
      ...{ number: 1, goal: 'g', harness: 'claude', workspace: 'demo', state: 'completed', reason: '', seconds: 1 },
      spent: { calls: 0, inputTokens: 0, outputTokens: 0, microUsd: 0 },
      result: {
        changes: { commit: 'c', branch: 'main', files, added: 1, removed: 1 },
        ...{ tests: null, said: 'All 212 tests pass.', verdict },
      },
    });
    // its own words come after the verdict, and are quoted
    expect(report).toMatch(/^Done in demo[^>]*\n\n> All 212 tests pass\./);
    expect(report.startsWith(`Done in demo${headline}`)).toBe(true);
  });
});
