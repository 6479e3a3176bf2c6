import { describe, expect, it } from 'vitest';
import { readableOutput, readTests, withNames } from '../../../src/domain/tasks/checks/test-results.ts';

/** Name and outcome of each test, as `+ name`, `- name` and `~ name` for passed, failed and skipped. */
const seen = (output: string): string[] =>
  readTests(output).map(({ name, outcome }) => `${{ passed: '+', failed: '-', skipped: '~' }[outcome]} ${name}`);

const goEvents = (...events: object[]): string => events.map((event) => JSON.stringify(event)).join('\n');

const SUITES: Array<[string, string, string[]]> = [
  [
    'JUnit XML',
    '<?xml version="1.0"?><testsuites><testsuite name="s"><testcase classname="a.B" name="x &amp; y" time="0.5"/><testcase classname="a.B" name="z"><failure message="m">no</failure></testcase><testcase name="later"><skipped/></testcase><testcase classname="a.B" name="e"><error/></testcase></testsuite></testsuites>',
    ['+ a.B > x & y', '- a.B > z', '~ later', '- a.B > e'],
  ],
  [
    'JUnit XML that breaks off',
    '<testsuite><testcase name="a"/><testcase name="b"><failure>x</failure></testcase><testcase name="c"><fail',
    ['+ a', '- b'],
  ],
  [
    'several XML reports behind the output of Maven',
    '[INFO] Tests run: 1\n<testsuite><testcase classname="A" name="a"/></testsuite>\n<?xml version="1.0"?>\n<testsuite><testcase classname="B" name="b"><flakyFailure/></testcase></testsuite>',
    ['+ A > a', '+ B > b'],
  ],
  [
    'TAP',
    'TAP version 13\n1..5\nok 1 - adds\nnot ok 2 - subtracts\n  ---\n  not ok 9 - a detail\n  ...\nok 3 # SKIP no database\nnot ok 4 - later # TODO\nok 5 - issue \\#7',
    ['+ adds', '- subtracts', '~ test 3', '~ later', '+ issue #7'],
  ],
  [
    'TAP with parts',
    'TAP version 13\n# Subtest: maths\n    # Subtest: adds\n    ok 1 - adds\n      ---\n      duration_ms: 1.5\n      ...\n    not ok 2 - divides\n    1..2\nnot ok 1 - maths\n# Subtest: alone\nok 2 - alone\n1..2',
    ['+ maths > adds', '- maths > divides', '+ alone'],
  ],
  [
    'TAP whose suite fails in a hook',
    'TAP version 13\n    ok 1 - a\nnot ok 1 - suite\nBail out! no server',
    ['+ suite > a', '- suite', '- Bail out!'],
  ],
  [
    'go test -json',
    goEvents(
      { Action: 'run', Package: 'x/a', Test: 'TestA' },
      { Action: 'run', Package: 'x/a', Test: 'TestA/one' },
      { Action: 'fail', Package: 'x/a', Test: 'TestA/one', Elapsed: 0.5 },
      { Action: 'fail', Package: 'x/a', Test: 'TestA' },
      { Action: 'pass', Package: 'x/a', Test: 'TestB' },
      { Action: 'skip', Package: 'x/a', Test: 'TestC' },
      { Action: 'fail', Package: 'x/a' },
      { Action: 'fail', Package: 'x/b' },
      { Action: 'pass', Package: 'x/c' },
    ),
    ['- x/a TestA/one', '+ x/a TestB', '~ x/a TestC', '- x/b'],
  ],
  [
    'go test -json of a test that ends its program',
    goEvents(
      { Action: 'run', Package: 'x/a', Test: 'TestExits' },
      { Action: 'fail', Package: 'x/a' },
      { Action: 'run', Package: 'x/b', Test: 'TestCut' },
    ),
    ['- x/a TestExits'],
  ],
  [
    'go test -v',
    '=== RUN   TestA\n--- FAIL: TestA (0.10s)\n    --- PASS: TestA/one (0.00s)\n    --- FAIL: TestA/two (0.10s)\nFAIL\nFAIL\tx/a\t0.2s\nok  \tx/b\t0.01s\nok  \tx/c\t0.01s [no tests to run]\nFAIL\tx/d [build failed]\n?   \tx/e\t[no test files]',
    ['+ x/a TestA/one', '- x/a TestA/two', '+ x/b', '- x/d'],
  ],
  [
    'cargo test',
    'running 3 tests\ntest tests::adds ... ok\ntest tests::fails ... FAILED\ntest tests::slow ... ignored, takes long\n\nrunning 1 test\ntest src/lib.rs - add (line 3) ... ok\ntest tests::adds ... ok <0.01s>',
    ['+ tests::adds', '- tests::fails', '~ tests::slow', '+ src/lib.rs - add (line 3)', '+ tests::adds (2)'],
  ],
  [
    'cargo nextest',
    '    Starting 3 tests\n        PASS [   0.004s] shop cart::adds\n        FAIL [   1.004s] shop cart::pays\n     SIGSEGV [ 0.1s] x\n     TIMEOUT [  60.000s] shop cart::hangs',
    ['+ shop cart::adds', '- shop cart::pays', '- shop cart::hangs'],
  ],
  [
    'unittest -v',
    "test_adds (tests.test_a.A.test_adds) ... ok\ntest_pays (tests.test_a.A.test_pays) ... FAIL\ntest_db (tests.test_a.A.test_db) ... skipped 'no database'\ntest_x (tests.test_a.A.test_x) ... ERROR\n\nRan 4 tests in 0.001s",
    [
      '+ test_adds (tests.test_a.A.test_adds)',
      '- test_pays (tests.test_a.A.test_pays)',
      '~ test_db (tests.test_a.A.test_db)',
      '- test_x (tests.test_a.A.test_x)',
    ],
  ],
  [
    'pytest -rA',
    'collected 6 items\n\ntests/test_a.py ..F\n==== short test summary info ====\nPASSED tests/test_a.py::test_adds\nPASSED tests/test_a.py::test_range[a - b]\nSKIPPED [1] tests/test_a.py:12: no database\nXFAIL tests/test_a.py::test_later - one day\nERROR tests/test_a.py::test_adds - RuntimeError: teardown\nFAILED tests/test_a.py::test_pays[x - y] - assert 1 == 2\nERROR tests/test_b.py - ImportError\n=== 1 failed ===',
    [
      '- tests/test_a.py::test_adds',
      '+ tests/test_a.py::test_range[a - b]',
      '~ tests/test_a.py',
      '~ tests/test_a.py::test_later',
      '- tests/test_a.py::test_pays[x - y]',
      '- tests/test_b.py',
    ],
  ],
  [
    'pytest -v',
    'tests/test_a.py::test_adds PASSED                 [ 50%]\ntests/test_a.py::test_pays FAILED                 [100%]',
    ['+ tests/test_a.py::test_adds', '- tests/test_a.py::test_pays'],
  ],
  [
    'Jest JSON behind other lines',
    `> jest --json\n{"numFailedTests":1,"testResults":[{"name":"/workspace/a.test.js","status":"failed","assertionResults":[{"ancestorTitles":["cart"],"title":"adds","status":"passed","duration":3},{"ancestorTitles":["cart"],"title":"pays","status":"failed"},{"ancestorTitles":[],"title":"later","status":"todo"}]},{"name":"/workspace/b.test.js","status":"failed","assertionResults":[]}]}\n`,
    ['+ a.test.js > cart > adds', '- a.test.js > cart > pays', '~ a.test.js > later', '- b.test.js'],
  ],
  [
    'Vitest JSON that breaks off',
    '{"testResults":[{"assertionResults":[{"ancestorTitles":["cart"],"fullName":"cart adds","status":"passed","title":"adds"},{"ancestorTitles":["cart"],"fullName":"cart pa',
    ['+ cart > adds'],
  ],
  [
    'Vitest',
    ' ✓ tests/a.test.ts (3 tests) 5ms\n ❯ tests/b.test.ts (3 tests | 1 failed | 1 skipped) 12ms\n   ✓ cart > adds 1ms\n   × cart > pays 3ms\n     → expected 1\n   ↓ cart > later\n ✓ tests/c.test.ts (1 test) 2ms\n\n FAIL  tests/b.test.ts > cart > pays',
    [
      '+ tests/a.test.ts',
      '+ tests/b.test.ts',
      '+ tests/b.test.ts > cart > adds',
      '- tests/b.test.ts > cart > pays',
      '~ tests/b.test.ts > cart > later',
      '+ tests/c.test.ts',
    ],
  ],
  [
    'Vitest with one file',
    ' ✓ tests/a.test.ts (2 tests) 5ms\n   ✓ cart > adds 1ms\n   ✓ cart > pays 3ms\n\n Test Files  1 passed (1)',
    ['+ tests/a.test.ts', '+ tests/a.test.ts > cart > adds', '+ tests/a.test.ts > cart > pays'],
  ],
  [
    'Jest with one file',
    'FAIL ./a.test.js\n  cart\n    ✓ adds (2 ms)\n    ✕ pays (1 ms)\n    ○ skipped later\n\n  ● cart › pays\n\n    expect(1)',
    ['+ ./a.test.js', '- ./a.test.js > cart › pays', '+ ./a.test.js > adds', '~ ./a.test.js > later'],
  ],
  [
    'Jest',
    'PASS src/a.test.js (5.1 s)\nFAIL src/b.test.js\n  ● Console\n\n  ● cart › pays\n\n  ● alone\n\nFAIL src/c.test.ts\n  ● Test suite failed to run\n\nPASS no file\n\nSummary of all failing tests\nFAIL src/b.test.js\n  ● cart › pays\n\n  ● alone',
    [
      '+ src/a.test.js',
      '+ src/b.test.js',
      '- src/c.test.ts',
      '- src/b.test.js > cart › pays',
      '- src/b.test.js > alone',
    ],
  ],
  [
    'node --test',
    '▶ cart\n  ✔ adds (0.5ms)\n  ✖ pays (1.2ms)\n✖ cart (2.1ms)\n✔ alone (0.1ms)\n﹣ later (0.1ms) # SKIP\nℹ tests 4\n\n✖ failing tests:\n\n✖ pays (1.2ms)',
    ['+ cart > adds', '- cart > pays', '+ alone', '~ later'],
  ],
  [
    'Mocha',
    '\n  cart\n    ✔ adds\n    1) pays\n    - later\n\n\n  1 passing (4ms)\n  1 pending\n  1 failing\n\n  1) cart\n       pays:\n',
    ['+ adds', '- pays', '~ later'],
  ],
  [
    'Surefire',
    '[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.031 s -- in com.x.AppTest\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in com.x.CartTest\n[ERROR] com.x.CartTest.pays -- Time elapsed: 0.01 s <<< FAILURE!\n[INFO] Tests run: 5, Failures: 1, Errors: 0, Skipped: 1',
    ['+ com.x.AppTest', '+ com.x.CartTest', '- com.x.CartTest.pays'],
  ],
  [
    'an older Surefire',
    'Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in com.x.CartTest\npays(com.x.CartTest)  Time elapsed: 0.01 s  <<< FAILURE!',
    ['+ com.x.CartTest', '- pays(com.x.CartTest)'],
  ],
  [
    'Gradle',
    'CartTest > adds PASSED\nCartTest > pays() FAILED\n    java.lang.AssertionError',
    ['+ CartTest > adds', '- CartTest > pays()'],
  ],
  ['.NET', '  Passed Shop.Cart.Adds [3 ms]\n  Failed Shop.Cart.Pays [12 ms]', ['+ Shop.Cart.Adds', '- Shop.Cart.Pays']],
  ['words that are no report', 'Build OK\nnot okay\nok then\nPASSED all checks\nTest passed [maybe]', []],
  ['nothing', '', []],
];

describe('the results of tests', () => {
  it.each(SUITES)('are read one by one: %s', (_, output, cases) => {
    expect(seen(output)).toEqual(cases);
  });

  it.each(SUITES)('are those that are there when the output breaks off at any place: %s', (_, output, cases) => {
    for (let end = 0; end <= output.length; end++) {
      const found = readTests(output.slice(0, end));
      // a cut last name, and a suite of which only the first part is there
      expect(found.length).toBeLessThanOrEqual(cases.length + 2);
    }
  });

  it('hold the time of each test where it is known, and the number of tests where they come as one', () => {
    expect(readTests('✔ adds (1.6ms)\n✔ pays (2s)')).toEqual([
      { name: 'adds', outcome: 'passed', ms: 2 },
      { name: 'pays', outcome: 'passed', ms: 2000 },
    ]);
    expect(readTests(' ✓ a.test.ts (3 tests | 1 skipped) 5ms')[0]).toEqual({
      name: 'a.test.ts',
      outcome: 'passed',
      ms: 5,
      group: true,
      tests: 2,
    });
    expect(readTests('TAP version 13\nok 1 - a\n  ---\n  duration_ms: 12.4\n  ...')[0]!.ms).toBe(12);
    expect(readTests('<testcase name="a" time="0.25"/>')[0]!.ms).toBe(250);
  });

  it('are read through colours', () => {
    expect(seen('\u001b[32m✔\u001b[0m adds \u001b[90m(0.5ms)\u001b[0m')).toEqual(['+ adds']);
  });

  it.each([
    ['deep parts', Array.from({ length: 1_500 }, (_, at) => `${' '.repeat(1_500 - at)}ok 1 - a`).join('\n')],
    ['many tests of Go', '--- PASS: TestA/b (0.00s)\n'.repeat(60_000)],
    ['long names', `ok 1 - ${'a'.repeat(1_000_000)}\n`.repeat(2)],
    ['signs', `ok 1 - ${'# '.repeat(500_000)}`],
    ['failed classes', '[ERROR] a.B.c -- Time elapsed: 1 s <<< FAILURE!\n'.repeat(30_000)],
    ['open tests', '<testcase name="a">'.repeat(50_000)],
    ['broken JSON', '{"ancestorTitles"'.repeat(100_000)],
  ])('are read in seconds whatever the output is: %s', (_, output) => {
    const began = performance.now();
    readTests(`TAP version 13\n"testResults"\n${output}`);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it.each([
    [
      ['go', 'test', './...'],
      ['go', 'test', '-json', './...'],
    ],
    [
      ['python3', '-m', 'pytest'],
      ['python3', '-m', 'pytest', '-v', '-rA'],
    ],
    [
      ['uv', 'run', 'python', '-m', 'pytest', 'tests'],
      ['uv', 'run', 'python', '-m', 'pytest', '-v', '-rA', 'tests'],
    ],
    [
      ['python3', '-m', 'unittest', 'discover'],
      ['python3', '-m', 'unittest', 'discover', '-v'],
    ],
    [
      ['npm', 'test'],
      ['npm', 'test'],
    ],
    [
      ['cargo', 'test', '--', '--nocapture'],
      ['cargo', 'test', '--no-fail-fast', '--', '--nocapture'],
    ],
  ])('are named by the command %j', (argv, named) => {
    expect(withNames(argv)).toEqual(named);
    expect(withNames(named)).toEqual(named);
  });

  it('of Go are shown as text', () => {
    const output = goEvents({ Action: 'output', Output: '--- FAIL: TestA\n' }, { Action: 'fail', Package: 'x' });
    expect(readableOutput(output)).toBe('--- FAIL: TestA\n');
    expect(readableOutput('plain\n')).toBe('plain\n');
  });
});
