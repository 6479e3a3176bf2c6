import { prefix } from '../../text/storable.ts';
import { parentsOf } from './test-reports.ts';
import type { TestCase, TestReader } from './test-results.ts';

/** Readers of reports for people: lines of text. */

type Outcome = TestCase['outcome'];

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Longer names are cut, and deeper parts count as if they stood here, so that reading takes no longer than its text. */
const NAME_CHARS = 300;
const DEEPEST = 100;

const ended = (name: string, outcome: Outcome, ms: number | null = null): TestCase => ({
  name: prefix(name, NAME_CHARS),
  outcome,
  ms,
});

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000 };

/** A name without the time behind it: `adds (1.5ms)`, `adds 3ms`. */
function timed(text: string): { name: string; ms: number | null } {
  const found = / \(?(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|m)\)?$/.exec(text.slice(-40));
  if (!found) return { name: text, ms: null };
  return { name: text.slice(0, -found[0].length).trimEnd(), ms: Math.round(Number(found[1]) * UNITS[found[2]!]!) };
}

interface Nested extends TestCase {
  indent: number;
}

const plain = (found: readonly Nested[]): TestCase[] => found.map(({ indent: _, ...each }) => each);

/** Adds a result whose parts, if it has any, stand before it and further in. */
function close(found: Nested[], { indent, ...each }: Nested): void {
  const result = { ...each, indent: Math.min(indent, DEEPEST) };
  let from = found.length;
  while (from > 0 && found[from - 1]!.indent > result.indent) from--;
  const parts = found.splice(from);
  for (const part of parts)
    found.push({ ...part, name: prefix(`${result.name} > ${part.name}`, NAME_CHARS), indent: result.indent });
  // what fails without a failed part is a hook, or a plan that was not kept
  const own = result.outcome === 'failed' && parts.every(({ outcome }) => outcome !== 'failed');
  if (parts.length === 0 || own) found.push(result);
}

/** TAP, also with parts inside parts: before their whole as `node --test` writes them, or in `{ … }` behind it. */
export const tap: TestReader = (lines) => {
  if (!lines.some((line) => line.startsWith('TAP version') || /^(?:1\.\.|(?:not )?ok )\d/.test(line))) return [];
  const found: Nested[] = [];
  const open: Nested[] = [];
  let details: number | null = null;
  for (const line of lines) {
    const indent = indentOf(line);
    const text = line.slice(indent);
    if (details !== null && indent >= details) {
      if (text === '...') details = null;
      const last = found.at(-1);
      const ms = text.startsWith('duration_ms:') ? Number(text.slice(12)) : Number.NaN;
      if (last && Number.isFinite(ms)) last.ms = Math.round(ms);
      continue;
    }
    details = null;
    if (text === '---' && indent > 0) details = indent;
    else if (text === '}' && open.length > 0) close(found, open.pop()!);
    else if (isTapResult(text)) {
      const result = { ...tapResult(text.replace(/ \{$/, '')), indent };
      if (text.endsWith(' {')) open.push(result);
      else close(found, result);
    } else if (text.startsWith('Bail out!')) found.push({ ...ended('Bail out!', 'failed'), indent: 0 });
  }
  while (open.length > 0) close(found, open.pop()!);
  return plain(found);
};

const isTapResult = (text: string): boolean => /^(?:not )?ok(?: |$)/.test(text) && !text.includes('\t');

function tapResult(text: string): TestCase {
  const failed = text.startsWith('not ');
  const rest = text.slice(failed ? 6 : 2).trimStart();
  const number = /^\d{1,9}/.exec(rest)?.[0] ?? '';
  const described = rest.slice(number.length).trimStart();
  const at = directiveIn(described);
  const directive =
    at < 0
      ? ''
      : described
          .slice(at + 1)
          .trim()
          .toLowerCase();
  const named = (at < 0 ? described : described.slice(0, at)).trim().replace(/^- ?/, '');
  const took = named.lastIndexOf(' # time=');
  const name = (took < 0 ? named : named.slice(0, took)).replaceAll('\\#', '#');
  const excused = directive.startsWith('skip') || directive.startsWith('todo');
  return ended(name || `test ${number}`, excused ? 'skipped' : failed ? 'failed' : 'passed');
}

/** Where a directive begins; -1 without one. A number sign behind a backslash belongs to the name. */
function directiveIn(text: string): number {
  for (let at = text.lastIndexOf('#'); at >= 0; at = at === 0 ? -1 : text.lastIndexOf('#', at - 1))
    if (text[at - 1] !== '\\' && /^# *(?:skip|todo)/i.test(text.slice(at, at + 40))) return at;
  return -1;
}

const DOTS: Array<[string, Outcome]> = [
  ['ok', 'passed'],
  ['FAILED', 'failed'],
  ['FAIL', 'failed'],
  ['ERROR', 'failed'],
  ['unexpected success', 'failed'],
  ['ignored', 'skipped'],
  ['skipped', 'skipped'],
  ['expected failure', 'skipped'],
];

const dotsOutcome = (said: string): Outcome | undefined =>
  DOTS.find(([word]) => said === word || said.startsWith(`${word} `) || said.startsWith(`${word},`))?.[1];

/**
 * `test a::b ... ok` of Cargo, and `test_a (tests.A) ... ok` of unittest. What a test prints may stand before its
 * outcome, and its first line of documentation before the dots.
 */
export const cargoAndUnittest: TestReader = (lines) => {
  const found = new Map<string, TestCase>();
  const failed = new Set<string>();
  let begun: string | null = null;
  for (const [at, line] of lines.entries()) {
    const before = lines[at - 1] ?? '';
    // `cargo test -q` names those that fail
    const dots = Math.max(line.lastIndexOf(' ... '), line.endsWith(' --- FAILED') ? line.length - 11 : -1);
    const isNamed = dots > 0 && indentOf(line) === 0;
    const outcome = dotsOutcome(isNamed ? line.slice(dots + 5) : line);
    const own = line.slice(0, Math.max(dots, 0)).replace(/^test /, '');
    const name: string | null = isNamed ? (isUnittest(before) && !isUnittest(own) ? before : own) : begun;
    if (name !== null && outcome) {
      found.set(found.has(name) ? `${name} ${found.size}` : name, ended(name, outcome));
      begun = null;
    } else if (isNamed && isUnittest(name!)) begun = name;
    if (before.startsWith('=====') && /^(?:ERROR|FAIL): /.test(line)) failed.add(line.slice(line.indexOf(' ') + 1));
  }
  for (const name of failed) {
    const test = name.slice(0, name.indexOf(')') + 1);
    if (isUnittest(test)) found.set(test, ended(test, 'failed'));
  }
  return [...found.values()];
};

/** `test_a (tests.A.test_a)` */
const isUnittest = (name: string): boolean => /^\w{1,200} \([\w.]{1,300}\)$/.test(name);

const NEXTEST: Record<string, Outcome> = { PASS: 'passed', FAIL: 'failed', TIMEOUT: 'failed', SKIP: 'skipped' };

/** `PASS [   0.004s] crate module::test` of cargo-nextest. A test that is tried again counts by its last try. */
export const nextest: TestReader = (lines) => {
  const found = new Map<string, TestCase>();
  for (const line of lines) {
    const text = line.trimStart();
    const outcome = NEXTEST[text.slice(0, text.indexOf(' '))];
    const end = text.indexOf(']');
    if (!outcome || end < 0 || !text.includes(' [')) continue;
    const seconds = Number(
      text
        .slice(text.indexOf('[') + 1, end)
        .trim()
        .replace(/s$/, ''),
    );
    const name = text.slice(end + 1).trim();
    if (name !== '' && Number.isFinite(seconds)) found.set(name, ended(name, outcome, Math.round(seconds * 1000)));
  }
  return [...found.values()];
};

const PYTEST: Record<string, Outcome> = {
  PASSED: 'passed',
  XPASS: 'passed',
  FAILED: 'failed',
  ERROR: 'failed',
  SKIPPED: 'skipped',
  XFAIL: 'skipped',
};

/** The summary of `pytest -rA`, and the lines of `pytest -v`. An error of a test's fixture is a failure of the test. */
export const pytest: TestReader = (lines) => {
  const found = new Map<string, TestCase>();
  const listed = new Set<string>();
  for (const line of lines) {
    const words = line.split(' ');
    if (words[0]!.startsWith('SUBFAIL')) {
      // a part of a test, which as a whole is said to pass
      const from = words.findIndex((word) => word.includes('::'));
      const name = from < 0 ? null : pytestName(words.slice(from).join(' '));
      if (name) found.set(name, ended(name, 'failed'));
      continue;
    }
    const first = PYTEST[words[0]!];
    const behind = words.findIndex((word, at) => at > 0 && PYTEST[word] !== undefined);
    const each =
      first && line.includes(' ')
        ? { name: pytestName(line.slice(words[0]!.length + 1)), outcome: first }
        : behind > 0 && line.includes('::')
          ? { name: words.slice(0, behind).join(' '), outcome: PYTEST[words[behind]!]! }
          : null;
    // the same words are used by others
    if (!each || !(each.name.includes('::') || /\.py(?:$|:)/.test(each.name))) continue;
    if (behind > 0 && words[behind] === 'SKIPPED') listed.add(each.name.split('::', 1)[0]!);
    if (found.get(each.name)?.outcome !== 'failed') found.set(each.name, ended(each.name, each.outcome));
  }
  // the summary has only the files of skipped tests
  for (const file of listed) found.delete(file);
  return [...found.values()];
};

/** `[2] tests/test_a.py:12: reason`, `tests/test_a.py::test_b[x - y] - reason`: without the reason and the line. */
function pytestName(text: string): string {
  if (text.startsWith('['))
    return text
      .slice(text.indexOf(']') + 1)
      .trimStart()
      .split(':')[0]!;
  const parameters = text.includes('[') ? text.indexOf('] - ') : -1;
  const end = parameters >= 0 ? parameters + 1 : text.endsWith(']') ? -1 : text.indexOf(' - ');
  return end < 0 ? text : text.slice(0, end);
}

const GO: Record<string, Outcome> = { '--- PASS: ': 'passed', '--- FAIL: ': 'failed', '--- SKIP: ': 'skipped' };

/** `go test` for people. A package whose tests are not named counts as one. */
export const goLines: TestReader = (lines) => {
  const found: TestCase[] = [];
  let named: TestCase[] = [];
  const leaves = () => {
    const parents = new Set(named.flatMap(({ name }) => parentsOf(name)));
    return named.filter(({ name }) => !parents.has(name));
  };
  for (const line of lines) {
    const text = line.trimStart();
    const outcome = GO[text.slice(0, 10)];
    if (outcome) {
      const { name, ms } = timed(text.slice(10));
      named.push(ended(name, outcome, ms));
      continue;
    }
    const [mark = '', folder = ''] = line.split('\t', 3).map((part) => part.trim());
    if ((mark !== 'ok' && mark !== 'FAIL') || folder === '' || line.includes('[no tests to run]')) continue;
    const whole = folder.split(' ')[0]!;
    for (const each of leaves()) found.push({ ...each, name: `${whole} ${each.name}` });
    if (mark === 'ok' && named.length === 0) found.push(ended(whole, 'passed'));
    if (mark === 'FAIL' && named.every(({ outcome }) => outcome !== 'failed')) found.push(ended(whole, 'failed'));
    named = [];
  }
  return [...found, ...leaves()];
};

const COUNTS =
  /Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9}), Time elapsed: ([\d.,]{1,20}) s/;

/** Maven Surefire: a class counts as one, beside its failed tests. */
export const surefire: TestReader = (lines) => {
  const found: TestCase[] = [];
  const failedTests: string[] = [];
  for (const line of lines) {
    const counts = COUNTS.exec(line.slice(0, 300));
    const name = / --? ?in (\S{1,300})$/.exec(line.slice(-320))?.[1];
    if (counts && name) {
      const [run, failures, errors, skipped] = counts.slice(1, 5).map(Number) as [number, number, number, number];
      const bad = failures + errors;
      const ms = Math.round(Number(counts[5]!.replaceAll(',', '')) * 1000);
      const outcome = bad > 0 ? 'failed' : run === skipped ? 'skipped' : 'passed';
      if (run > 0)
        found.push({ ...ended(name, outcome, Number.isFinite(ms) ? ms : null), group: true, tests: run - skipped });
      continue;
    }
    const at = line.indexOf('Time elapsed:');
    if (at < 0 || counts || !/<<< (?:FAILURE|ERROR)!$/.test(line)) continue;
    failedTests.push(
      line
        .slice(0, at)
        .replace('[ERROR]', '')
        .replace(/[ -]{1,8}$/, '')
        .trim(),
    );
  }
  const failedNames = failedTests.map((name) => ended(name, 'failed'));
  const classes = new Set(failedTests.map(classOf));
  // the failed tests stand for their class
  const groups = found.map((each) =>
    each.outcome === 'failed' && classes.has(each.name) ? { ...each, outcome: 'passed' as const } : each,
  );
  return [...groups, ...failedNames];
};

/** `com.x.CartTest.pays`, or `pays(com.x.CartTest)` in older versions. */
const classOf = (test: string): string =>
  test.endsWith(')') && test.includes('(')
    ? test.slice(test.lastIndexOf('(') + 1, -1)
    : test.slice(0, test.lastIndexOf('.'));

const ENDINGS: Record<string, Outcome> = { PASSED: 'passed', FAILED: 'failed', SKIPPED: 'skipped' };
const DOTNET: Record<string, Outcome> = { Passed: 'passed', Failed: 'failed', Skipped: 'skipped' };

/** `ATest > adds PASSED` of Gradle, and `Passed A.Adds [3 ms]` of .NET. */
export const gradleAndDotnet: TestReader = (lines) =>
  lines.flatMap((line) => {
    const end = ENDINGS[line.slice(line.lastIndexOf(' ') + 1)];
    if (end && line.includes(' > ')) return [ended(line.slice(0, line.lastIndexOf(' ')), end)];
    const text = line.trimStart();
    const begin = DOTNET[text.slice(0, text.indexOf(' '))];
    if (!begin || !text.endsWith(']') || !text.includes(' [')) return [];
    const from = text.lastIndexOf(' [');
    return [ended(text.slice(text.indexOf(' ') + 1, from), begin, timed(` ${text.slice(from + 2, -1)}`).ms)];
  });

const MARKS: Record<string, Outcome> = {
  ...{ '✔': 'passed', '✓': 'passed', '√': 'passed' },
  ...{ '✖': 'failed', '✕': 'failed', '✗': 'failed', '×': 'failed' },
  ...{ '﹣': 'skipped', '○': 'skipped', '↓': 'skipped', '□': 'skipped' },
};

/** Lists with marks: `node --test`, Vitest, Jest, Mocha, PHPUnit. */
export const marks: TestReader = (lines) => {
  const end = lines.findIndex((line) => /^ {1,4}\d{1,9} passing/.test(line));
  const mocha = end >= 0;
  const found: Nested[] = [];
  const suites = new Set<string>();
  let file: { path: string; indent: number } | null = null;
  for (const [at, line] of (mocha ? lines.slice(0, end) : lines).entries()) {
    const indent = indentOf(line);
    const text = line.slice(indent);
    // `node --test` lists failed tests again
    if (text.startsWith('✖ failing tests:')) break;
    if (file && indent <= file.indent) file = null;
    if (text.startsWith('▶ ')) {
      const { name, ms } = timed(text.slice(2));
      if (ms === null) suites.add(`${indent} ${name}`);
      else close(found, { ...ended(name, 'passed', ms), indent });
      continue;
    }
    const group = groupIn(text);
    if (group) {
      found.push({ ...group, indent });
      file = { path: group.name, indent };
      continue;
    }
    const outcome = MARKS[text[0] ?? ''] ?? (mocha ? mochaOutcome(text) : undefined);
    if (!outcome || (text[1] !== ' ' && !mocha)) continue;
    const excused = Math.max(text.lastIndexOf(' # SKIP'), text.lastIndexOf(' # TODO'));
    const { name, ms } = timed(withoutMark(excused < 0 ? text : text.slice(0, excused)));
    // Vitest lists suites with the number of their tests
    if (file && / \(\d{1,6}\)$/.test(name) && indentOf(lines[at + 1] ?? '') > indent) continue;
    const result = { ...ended(name, excused < 0 ? outcome : 'skipped', ms), indent };
    if (file) found.push({ ...result, name: prefix(`${file.path} > ${result.name}`, NAME_CHARS) });
    else if (suites.has(`${indent} ${name}`)) close(found, result);
    else found.push(result);
  }
  return plain(found);
};

/** What Jest lists beside failed tests. */
const NO_TESTS = ['Console', 'Test suite failed to run'];

/**
 * Jest: files as groups. It lists all tests of a file only where there is one file, and failed ones (`● cart › pays`)
 * always.
 */
export const jest: TestReader = (lines) => {
  const groups = new Map<string, TestCase>();
  const failed = new Map<string, TestCase>();
  const others: TestCase[] = [];
  let file: TestCase | null = null;
  let fails = false;
  for (const line of lines) {
    const header = /^(PASS|FAIL) +(\S.{0,300})$/.exec(line);
    const path = header && timed(header[2]!).name.split(' ').at(-1)!;
    if (path && /\.[cm]?[jt]sx?$/.test(path)) {
      fails = header[1] === 'FAIL';
      // a summary at the end names it again
      file = groups.get(path) ?? { ...ended(path, fails ? 'failed' : 'passed'), group: true };
      groups.set(path, file);
      continue;
    }
    if (!file) continue;
    const text = line.trimStart();
    const name = withoutMark(text);
    const outcome = MARKS[text[0] ?? ''];
    if (fails && text.startsWith('● ') && !NO_TESTS.includes(name)) {
      failed.set(`${file.name} > ${name}`, ended(`${file.name} > ${name}`, 'failed'));
      file.outcome = 'passed';
    } else if (text[1] === ' ' && (outcome === 'passed' || outcome === 'skipped')) {
      const test = timed(name.replace(/^skipped /, ''));
      others.push(ended(`${file.name} > ${test.name}`, outcome, test.ms));
    }
  }
  return [...groups.values(), ...failed.values(), ...others];
};

const withoutMark = (text: string): string => text.slice(text.indexOf(' ') + 1);

function mochaOutcome(text: string): Outcome | undefined {
  if (/^\d{1,6}\) /.test(text)) return 'failed';
  return text.startsWith('- ') ? 'skipped' : undefined;
}

/** A file in Vitest's list: `✓ a.test.ts (3 tests) 5ms`, `❯ a.test.ts (3 tests | 1 failed) 5ms`. */
function groupIn(text: string): TestCase | null {
  const found = / \((\d{1,9}) tests?(?: \| ([^()]{1,80}))?\)/.exec(text.slice(0, 400));
  if (!found || text[1] !== ' ' || !'✓❯×↓'.includes(text[0]!)) return null;
  const counts = (found[2] ?? '').split(' | ').map((part) => part.split(' '));
  const of = (word: string) => Number(counts.find((part) => part[1] === word)?.[0] ?? 0);
  const [all, failed, skipped] = [Number(found[1]), of('failed'), of('skipped')];
  const name = withoutMark(text)
    .slice(0, found.index - 2)
    .trim();
  const bad = failed > 0 || text[0] === '×' || text[0] === '❯';
  const outcome = bad && failed === 0 ? 'failed' : all === skipped ? 'skipped' : 'passed';
  return { ...ended(name, outcome, timed(text).ms), group: true, tests: all - skipped };
}
