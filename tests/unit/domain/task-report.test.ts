import { describe, expect, it } from 'vitest';
import { verdictOf } from '../../../src/domain/tasks/checks/verdict.ts';
import { hasNoTests, type Report, reportText, subjectIn } from '../../../src/domain/tasks/report.ts';
import { sayIn } from '../../../src/domain/texts/say.ts';
import { takeAttachments } from '../../../src/gateway/channels/shared/markdown.ts';
import { toWhatsApp } from '../../../src/gateway/channels/whatsapp/text/markup.ts';

const report: Report = {
  number: 3,
  goal: 'add rate limiting to the API',
  harness: 'claude',
  workspace: 'shop',
  state: 'completed',
  reason: '',
  seconds: 95,
  spent: { calls: 3, inputTokens: 1000, outputTokens: 200, microUsd: 12_345 },
  result: {
    changes: {
      commit: 'abcdef0123456789',
      branch: 'main',
      files: [
        { path: 'new_file_name.ts', status: 'added', added: 10, removed: 0 },
        { path: 'old*.ts', status: 'deleted', added: 0, removed: 4 },
        { path: 'a\n`b`.ts', status: 'modified', added: 1, removed: 1 },
      ],
      added: 11,
      removed: 5,
    },
    tests: { command: 'npm test', ok: false, output: 'not ok 1\n```\nend' },
    said: 'Done.',
  },
};

describe('the report of a task', () => {
  it('defect 34: says first that it is done, what the agent says and whether tests pass, then what changed, and how to undo it', () => {
    expect(reportText(report)).toBe(
      [
        'Done in shop, but tests fail:',
        '> Done.',
        'Tests fail (`npm test`):\n````\nnot ok 1\n```\nend\n````',
        "3 files changed (+11 -5) on main:\n- added `new_file_name.ts` (+10 -0)\n- deleted `old*.ts` (+0 -4)\n- modified `a?'b'.ts` (+1 -1)",
        'Say "undo" to take it back.',
        '1 min 35 s, 1.2k tokens, $0.01.',
      ].join('\n\n'),
    );
  });

  it('shows the end of a build that broke, and says so in the language of the person', () => {
    const broken = { part: 'build', command: 'npm run build', state: 'failed', output: 'one\nTS2304 in a.ts' } as const;
    const parts = [
      { ...broken, passedBefore: true },
      { ...broken, part: 'lint' as const, command: 'npm run lint', passedBefore: false },
    ];
    const verdict = verdictOf({ before: null, after: null, edits: { weakened: [], settings: [] }, parts });
    const { tests: _tests, ...rest } = report.result;
    const it = { ...report, result: { ...rest, tests: null, verdict, parts } };
    const said = reportText(it);
    expect(said).toMatch(/^Done in \S+, but it does not build:\n/);
    expect(said).toContain('`npm run build` ended with:\n```\none\nTS2304 in a.ts\n```');
    expect(said).not.toContain('`npm run lint` ended');
    expect(reportText(it, sayIn('de'))).toMatch(/, aber es lässt sich nicht bauen:\n/);
    const failed = { name: 'a', outcome: 'failed', ms: 1 } as const;
    const after = { state: 'ended', command: 'npm test', code: 1, ms: 1, cases: [failed] } as const;
    const flaky = verdictOf({
      ...{ before: null, edits: { weakened: [], settings: [] }, flaky: ['a'] },
      after: { ...after, cases: [failed] },
    });
    expect(reportText({ ...it, result: { ...it.result, verdict: flaky } }, sayIn('de'))).toMatch(
      /, aber 1 Test schlägt manchmal fehl:\n/,
    );
  });

  it('ends with pictures of the pages that were changed, whose names hold no markup', () => {
    const pictures = [
      { page: 'index.html', before: 'att_1', after: 'att_2' },
      { page: 'same.html', before: 'att_3', after: 'att_3' },
      { page: 'a](attachment:att_9)![b.html', after: 'att_4' },
    ];
    const said = reportText({ ...report, result: { ...report.result, pictures } });
    expect(said.split('\n\n').at(-1)!.split('\n')).toEqual([
      '![Before: index.html](attachment:att_1)',
      '![Now: index.html](attachment:att_2)',
      '![Looks the same: same.html](attachment:att_3)',
      '![Now: a??attachment?att_9???b.html](attachment:att_4)',
    ]);
    expect(takeAttachments(said).attached.map(({ id }) => id)).toEqual(['att_1', 'att_2', 'att_3', 'att_4']);
  });

  it('is short for work on a pull request, whose own question shows the changes and asks what becomes of them', () => {
    const pull = '#7 "Add limits"';
    const { tests: _tests, ...rest } = report.result;
    const result = { ...rest, tests: null, said: 'Corrected.' };
    expect(reportText({ ...report, pull, result })).toBe(
      'Done on #7 "Add limits". No tests were run.\n\n> Corrected.\n\n1 min 35 s, 1.2k tokens, $0.01.',
    );
    expect(
      reportText({ ...report, pull, state: 'failed', reason: 'The disk is full.', result: { ...result, said: '' } }),
    ).toBe('The agent on #7 "Add limits" could not do it:\n\nThe disk is full.\n\n1 min 35 s, 1.2k tokens, $0.01.');
  });

  it('names the hosts that were refused, and how often', () => {
    const refused = [
      { host: 'evil.example.com', port: 443, refused: 3 },
      { host: 'plain.example.com', port: 80, refused: 1 },
      { host: '(others)', port: 0, refused: 9 },
    ];
    expect(reportText({ ...report, refused })).toContain(
      'Refused: evil.example.com (3 times), http://plain.example.com, other hosts (9 times).',
    );
    expect(reportText(report)).not.toContain('Refused');
  });

  it.each([
    ['Done.\n\nCommit: Add rate limits to the API', 'Add rate limits to the API', 'Done.'],
    ['**Commit:** `Fix the login.`', 'Fix the login', ''],
    ['Commit message: "Fix it"\nThat is all.', 'Fix it', '\nThat is all.'],
    ['I will commit: later', null, 'I will commit: later'],
    ['Commit: ', null, 'Commit:'],
    [`Commit: ${'long '.repeat(40)}`, expect.stringMatching(/^(long )+.{0,6}\.\.\.$/), ''],
  ])('takes the subject of the commit out of %j', (said, subject, rest) => {
    const found = subjectIn(said);
    expect(found.subject).toEqual(subject);
    expect(found.subject?.length ?? 0).toBeLessThanOrEqual(72);
    expect(found.said.trim()).toBe(rest.trim());
  });

  it('names the undo that takes back this task and no other, where it worked on a branch of its own', () => {
    expect(reportText({ ...report, seconds: 540, waitedSeconds: 480 })).toContain(
      '9 min 0 s, of which 8 min 0 s waiting for you',
    );
    expect(reportText({ ...report, waitedSeconds: 40 })).not.toContain('waiting for you');
    expect(reportText({ ...report, worktree: true })).toContain('Say "undo 3" to take it back.');
    const { result } = report;
    const note = 'The changes are uncommitted in the working tree, and committed on branch fetch/tsk_1-2 only.';
    const own = { ...result, changes: { ...result.changes!, commit: 'abc', branch: 'fetch/tsk_1', note } };
    const told = reportText({ ...report, worktree: true, result: own });
    expect(told).toContain(' on a branch of its own:');
    expect(told).toContain('and committed on a branch of its own only.');
    expect(told).not.toContain('tsk_');
  });

  it('tells what else became of the workspace, also where no file was changed', () => {
    const changes = {
      commit: null,
      branch: null,
      files: [],
      added: 0,
      removed: 0,
      note: 'Ignored files are gone: .env; "undo" brings them back.',
    };
    expect(reportText({ ...report, result: { ...report.result, changes } })).toContain(
      'No file was changed.\n\nIgnored files are gone: .env',
    );
  });

  it('tells an added file from a deleted one on a phone, too, and keeps names as they are', () => {
    const text = toWhatsApp(reportText(report));
    expect(text).toMatch(/added `new_file_name\.ts`[\s\S]*deleted `old\*\.ts`/);
  });

  it('counts all files where not all are listed', () => {
    const files = Array.from({ length: 500 }, (_, at) => ({ path: `${at}.ts`, status: 'added', added: 1, removed: 0 }));
    const changes = { ...report.result.changes!, files, filesChanged: 150_000 };
    const text = reportText({ ...report, result: { ...report.result, changes } });
    expect(text).toContain('150000 files changed');
    expect(text).toContain('\n- and 149988 more\n');
  });

  it('says once that a task was cancelled', () => {
    const cancelled = {
      ...report,
      state: 'cancelled' as const,
      reason: 'It was cancelled.',
      result: { changes: null, tests: null, said: '' },
    };
    const end = '1 min 35 s, 1.2k tokens, $0.01.';
    expect(reportText(cancelled)).toBe(`Stopped in shop: "add rate limiting to the API"\n\n${end}`);
    expect(reportText({ ...cancelled, reason: 'It was cancelled before it began.' })).toBe(
      `Stopped in shop before it began: "add rate limiting to the API"\n\n${end}`,
    );
  });

  it('marks every line of what the agent says, so that none can be taken for ours', () => {
    const said = 'Done.\n\nTests pass (`npm test`).\r\u001b[2K› yes\n(approved)';
    const lines = reportText({ ...report, result: { ...report.result, tests: null, said } }).split('\n');
    const from = lines.indexOf('Done in shop. No tests were run.');
    expect(lines.slice(from + 2, from + 7)).toEqual([
      '> Done.',
      '>',
      '> Tests pass (`npm test`).',
      '> › yes',
      '> (approved)',
    ]);
  });

  it('shows twelve files at most, and how many there are besides', () => {
    const files = Array.from({ length: 20 }, (_, at) => ({ path: `${at}.ts`, status: 'added', added: 1, removed: 0 }));
    const text = reportText({ ...report, result: { ...report.result, changes: { ...report.result.changes!, files } } });
    expect(text.match(/^- added/gm)).toHaveLength(12);
    expect(text).toContain('\n- and 8 more\n');
  });

  it('says that no tests were run, beside an agent that says they pass', () => {
    const result = { ...report.result, tests: null, said: 'All 212 tests pass' };
    expect(reportText({ ...report, result: { ...result, untested: 'the files of the project name none' } })).toMatch(
      /^Done in shop\. No tests were run\.\n\n> All 212 tests pass\n\n[\s\S]*\n\nWhy no tests were run: the files of the project name none\.\n\n/,
    );
    expect(reportText({ ...report, result: { ...result, said: '' } })).toMatch(
      /^Done in shop\. No tests were run\. "add rate limiting to the API"\n\n/,
    );
    expect(reportText({ ...report, state: 'failed', result })).not.toContain('No tests');
  });

  it('says first what the tests show by rules, and then why, whatever the agent says', () => {
    const verdict = {
      level: 'unverified' as const,
      headline: ', but 2 tests fail',
      reasons: ['These tests fail: `a`, `b`.', '1 test failed before it, too: `c`.'],
      ...{ passed: 4, failed: 3, skipped: 0 },
    };
    const result = { ...report.result, said: 'All tests pass.', verdict };
    expect(reportText({ ...report, result })).toMatch(
      /^Done in shop, but 2 tests fail:\n\n> All tests pass\.\n\nThese tests fail: `a`, `b`\.\n1 test failed before it, too: `c`\.\n\nTests fail/,
    );
  });

  it('says what its person said too late', () => {
    expect(reportText({ ...report, unheard: ['use npm', 'and\nnot yarn'] })).toContain(
      '\n\nIt ended before its agent heard this from you: use npm; and not yarn\nStart a task for it.\n\n',
    );
    expect(reportText({ ...report, unheard: [] })).not.toContain('heard this');
  });

  it('says first that the changes of a task were not committed, and what to do', () => {
    const problem = 'Its changes could not be read. Look at the folder.';
    const text = reportText({ ...report, result: { changes: null, tests: null, said: '', problem } });
    expect(text).toMatch(
      /^Done in shop, but its changes were not committed: "add rate limiting to the API"\n\nIts changes could not be read\. Look at the folder\.\n\n/,
    );
  });

  it.each([
    ['unittest', '\n----\nRan 0 tests in 0.000s\n\nOK', true],
    ['unittest with tests', '\n----\nRan 3 tests in 0.010s\n\nOK', false],
    ['node', '# tests 0\n# suites 0\n# pass 0', true],
    ['node with tests', 'ℹ tests 2\nℹ pass 2', false],
    ['pytest', 'collected 0 items\n\n==== no tests ran in 0.01s ====', true],
    ['go', '?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.002s [no tests to run]', true],
    ['go with tests', '?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.002s', false],
    ['go that does not build', '?   \texample.com/a\t[no test files]\nFAIL\texample.com/b [build failed]', false],
    ['cargo', 'running 0 tests\n\ntest result: ok. 0 passed; 0 failed', true],
    ['cargo with doc tests alone', 'running 0 tests\n\nrunning 1 test\ntest src/lib.rs ... ok', false],
    ['jest', 'No tests found, exiting with code 0', true],
    ['vitest', 'No test files found, exiting with code 1', true],
    ['make', "make: Nothing to be done for 'test'.", true],
    ['a test that speaks of none', '1 passed: says "No tests found" where there are none', false],
  ])('knows whether a runner has run any test: %s', (_, output, none) => {
    expect(hasNoTests(output)).toBe(none);
  });
});
