import type { TestEdits } from '../../../contracts/workspace-ops.ts';
import { codeFence } from '../../text/foreign-text.ts';
import { suffix } from '../../text/storable.ts';
import { english } from '../../texts/say.ts';
import { type EditsText, editsText, nameList, scriptsText } from './check-edits.ts';
import { type PartCheck, partsText } from './part-checks.ts';
import type { TestCase } from './test-results.ts';

/**
 * What a person may believe of a task, by rules alone: the words of its agent are no evidence. Evidence is what the
 * project's tests said after the last change, in a container that no agent could touch, beside what they said before it.
 */

/** One run of the test command of a project. */
export interface TestRun {
  /** `ended`: by itself. `no runner`: a program or package that it needs is not there. */
  state: 'ended' | 'timed out' | 'no runner' | 'no tests';
  command: string;
  /** exit code; null unless it ended */
  code: number | null;
  ms: number;
  /** empty: the runner names none */
  cases: TestCase[];
  /** a part of its output is missing, and perhaps a part of its tests */
  cut?: true;
}

export interface Verdict {
  /**
   * `verified`: every test that ran before runs and passes. `partly`: what failed failed before, too, a part of the tests
   * is gone, a check was changed to check less, or lint fails. `unverified`: a test, the build or a type fails that did
   * not fail before, or nothing shows that anything works.
   */
  level: 'verified' | 'partly' | 'unverified';
  /** continues "Done in demo": `, tests pass`, `, but 2 tests fail`, `. No tests were run.` */
  headline: string;
  /** sentences, the most important first */
  reasons: string[];
  passed: number;
  failed: number;
  skipped: number;
  /** the same before the task; unset where no test had a name then */
  before?: { passed: number; failed: number; skipped: number };
}

interface Evidence {
  /** null: no test command is known */
  after: TestRun | null;
  /** null: they were not run */
  before: TestRun | null;
  edits: TestEdits;
  /** tests that are known to pass only sometimes */
  flaky?: readonly string[];
  /** build, types and lint after the task */
  parts?: readonly PartCheck[];
}

const LEVELS = ['verified', 'partly', 'unverified'] as const;

/** Failing tests say more than a failing build, which often makes them fail. */
export function verdictOf({ parts = [], ...evidence }: Evidence): Verdict {
  const byTests = verdictByTests(evidence);
  const scripts = scriptsText(evidence.edits.scripts);
  // a command that does nothing shows nothing
  const shown = parts.filter(({ part, state }) => state !== 'passed' || !scripts.parts.includes(part));
  const checks = partsText(shown);
  const { failing, passing } = checks;
  const isLess = scripts.less.length > 0;
  const level = checks.level === 'verified' && isLess ? 'partly' : checks.level;
  const headline = checks.headline ?? (isLess ? english('tests.fewerChecks') : null);
  const rises = level === 'unverified' && byTests.level !== 'unverified';
  const doTestsFail = byTests.headline.startsWith(', but ') && !rises;
  const reasons = [...byTests.reasons];
  const isReplaced = headline !== null && !doTestsFail;
  if (isReplaced && byTests.headline === NONE_RUN) reasons.unshift(english('verdict.noTests'));
  return {
    ...byTests,
    level: LEVELS[Math.max(LEVELS.indexOf(level), LEVELS.indexOf(byTests.level))]!,
    headline: isReplaced ? headline : byTests.headline,
    reasons: doTestsFail
      ? [...reasons, ...failing, ...scripts.less, ...passing, ...scripts.other]
      : [...failing, ...scripts.less, ...reasons, ...passing, ...scripts.other],
  };
}

function verdictByTests({ after, before, edits, flaky = [] }: Omit<Evidence, 'parts'>): Verdict {
  const countsOf = (run: TestRun | null) => ({
    passed: countOf(run, 'passed'),
    failed: countOf(run, 'failed'),
    skipped: countOf(run, 'skipped'),
  });
  const counts = { ...countsOf(after), ...(before && areNamed(before) && { before: countsOf(before) }) };
  const result = (level: Verdict['level'], headline: string, reasons: string[]): Verdict => ({
    level,
    headline,
    reasons,
    ...counts,
  });
  const compared = areNamed(before) && areNamed(after);
  const how = editsText(edits, { compared, hadTests: before?.state !== 'no tests' });
  const edited = [...how.weaker, ...how.changed, ...how.expected];
  const missing = notRun(after, before);
  if (missing) return result('unverified', missing.headline, [...missing.reasons, ...edited]);
  const { code, cases } = after!;
  const failed = cases.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  const gone = goneText(before, after!);
  if (code === 0 && failed.length === 0) {
    const reasons = [...gone, ...edited, ...(before ? [] : [NOT_COMPARED])];
    return result(reasons.length > 0 ? 'partly' : 'verified', passingHeadline(gone, how, before), reasons);
  }
  if (failed.length === 0) return result('unverified', ...brokenTexts(before, gone, edited));
  const failedBefore = new Set(before?.state === 'ended' ? before.cases.flatMap(nameIfFailed) : []);
  const fresh = failed.filter((name) => !failedBefore.has(name));
  const old = failed.filter((name) => failedBefore.has(name));
  const oldText =
    old.length > 0
      ? [english(old.length === 1 ? 'verdict.olderOne' : 'verdict.older', { count: old.length, names: nameList(old) })]
      : [];
  if (fresh.length > 0 && fresh.every((name) => flaky.includes(name)))
    return result('partly', `, but ${tests(fresh.length)} ${fresh.length === 1 ? 'fails' : 'fail'} now and then`, [
      english('verdict.flaky', { names: nameList(fresh) }),
      ...oldText,
      ...gone,
      ...edited,
    ]);
  if (fresh.length === 0)
    return result('partly', `, and ${tests(old.length)} ${old.length === 1 ? 'fails' : 'fail'} as before`, [
      ...oldText,
      ...gone,
      ...edited,
    ]);
  const unknown = before?.state === 'ended' ? [] : [english('verdict.olderUnknown')];
  return result('unverified', `, but ${tests(fresh.length)} ${fresh.length === 1 ? 'fails' : 'fail'}`, [
    english(fresh.length === 1 ? 'verdict.failingOne' : 'verdict.failing', { names: nameList(fresh) }),
    ...unknown,
    ...oldText,
    ...gone,
    ...edited,
  ]);
}

const areNamed = (run: TestRun | null): boolean => run?.state === 'ended' && run.cases.length > 0;

const NOT_COMPARED = english('verdict.notCompared');
const NONE_RUN = '. No tests were run.';

/** A group counts by its number of tests, without those that are named beside it. */
function countOf(run: TestRun | null, outcome: TestCase['outcome']): number {
  const cases = run?.cases ?? [];
  const named = new Map<string, number>();
  for (const { name, group } of cases) if (!group) named.set(groupOf(name), (named.get(groupOf(name)) ?? 0) + 1);
  return cases.reduce((sum, each) => {
    if (each.outcome !== outcome) return sum;
    return sum + (each.group ? Math.max(0, (each.tests ?? 1) - (named.get(each.name) ?? 0)) : 1);
  }, 0);
}

/** The file or class of a test, where its name begins with it. */
const groupOf = (name: string): string =>
  name.includes(' > ') ? name.slice(0, name.indexOf(' > ')) : name.slice(0, name.lastIndexOf('.'));

const nameIfFailed = ({ name, outcome }: TestCase): string[] => (outcome === 'failed' ? [name] : []);
const tests = (count: number): string => `${count} ${count === 1 ? 'test' : 'tests'}`;

/** Why nothing is known of the tests after the task; null when they ran to an end. */
function notRun(after: TestRun | null, before: TestRun | null): { headline: string; reasons: string[] } | null {
  // some runners name failed tests only
  const ranBefore = before?.state === 'ended' && before.cases.some(({ outcome }) => outcome !== 'failed');
  const lost = ranBefore ? [ranBeforeText(before.cases.length)] : [];
  if (!after) return { headline: NONE_RUN, reasons: lost };
  switch (after.state) {
    case 'timed out':
      return {
        headline: ', but its tests did not end in time',
        reasons: [
          english('verdict.timedOut', { command: after.command, count: Math.max(1, Math.round(after.ms / 60_000)) }),
        ],
      };
    case 'no runner':
      return { headline: NONE_RUN, reasons: [english('verdict.noRunner', { command: after.command })] };
    case 'no tests':
      return { headline: NONE_RUN, reasons: [english('verdict.foundNone', { command: after.command }), ...lost] };
    default:
      return after.cases.length === 0 && ranBefore
        ? { headline: NONE_RUN, reasons: [english('verdict.namedNone', { command: after.command }), ...lost] }
        : null;
  }
}

const ranBeforeText = (count: number): string =>
  count === 1 ? english('verdict.ranBeforeOne') : english('verdict.ranBefore', { count });

function passingHeadline(gone: string[], edits: EditsText, before: TestRun | null): string {
  if (gone.length > 0) return ', tests pass, but not all of those that ran before';
  if (edits.weaker.length > 0) return ', tests pass, but tests were changed to check less';
  if (edits.changed.length > 0) return english('tests.passChanged');
  if (edits.expected.length > 0) return english('tests.passExpected');
  if (before?.state === 'ended' && (before.code !== 0 || before.cases.some(({ outcome }) => outcome === 'failed')))
    return ', tests pass that failed before';
  return ', tests pass';
}

/** Their command failed, and no test is named as failed: a build error, for example. */
function brokenTexts(before: TestRun | null, gone: string[], edited: string[]): [string, string[]] {
  return [wasBroken(before) ? ', but tests fail, as before' : ', but tests fail', [...gone, ...edited]];
}

/** It ended with a failure, and named no test as failed. */
const wasBroken = (run: TestRun | null): boolean =>
  run?.state === 'ended' && run.code !== 0 && run.cases.every(({ outcome }) => outcome !== 'failed');

/**
 * The tests that fail and did not fail before; empty where the command fails and names none. Null when nothing shows
 * that the task broke any: without a result of before, the failures may be older.
 */
export function brokenTests({
  after,
  before,
  flaky = [],
}: Pick<Evidence, 'after' | 'before' | 'flaky'>): string[] | null {
  if (after?.state !== 'ended' || (before?.state !== 'ended' && before?.state !== 'no tests')) return null;
  const failed = after.cases.flatMap(nameIfFailed);
  if (failed.length === 0) return after.code === 0 || wasBroken(before) ? null : [];
  const failedBefore = new Set(before.cases.flatMap(nameIfFailed));
  const fresh = failed.filter((name) => !failedBefore.has(name) && !flaky.includes(name));
  return fresh.length > 0 ? fresh : null;
}

/** For the person: the agent had more passes, because checks failed at the end of the one before. */
export function passesText(passes: number, fail: boolean): string {
  if (passes === 1) return english(fail ? 'verdict.passFailed' : 'verdict.pass');
  return english(fail ? 'verdict.passesFailed' : 'verdict.passes', { count: passes });
}

const BROKEN_SHOWN = 20;
const LINES_SHOWN = 40;
const OUTPUT_CHARS = 3_000;

/** For the agent, when it ends and tests fail that did not fail before. */
export function passPrompt({ command, broken, output }: { command: string; broken: string[]; output: string }): string {
  const end = suffix(output.split('\n').slice(-LINES_SHOWN).join('\n'), OUTPUT_CHARS);
  const more = broken.length - BROKEN_SHOWN;
  return [
    `The work is not done: \`${command}\` fails on the files as they are now, and before your work it did not fail so.`,
    ...(broken.length > 0
      ? [
          `These tests fail:`,
          ...broken.slice(0, BROKEN_SHOWN).map((name) => `- ${nameList([name])}`),
          ...(more > 0 ? [`- and ${more} more`] : []),
        ]
      : []),
    `The last lines of its output:`,
    codeFence(end),
    'Repair what is broken. Do not delete, skip or weaken a test to make it pass. If a test is wrong, change it and say why.',
  ].join('\n');
}

/** Tests that passed before and do not run any more. */
function goneText(before: TestRun | null, after: TestRun): string[] {
  if (before?.state !== 'ended') return [];
  if (after.cut) return [english('verdict.tooLong')];
  const now = new Map(after.cases.map((each) => [each.name, each]));
  const ran = before.cases.filter(({ outcome }) => outcome === 'passed');
  const gone = ran.filter(({ name }) => !now.has(name) && !hasPassedGroup(name, now)).map(({ name }) => name);
  const known = new Set(before.cases.map(({ name }) => name));
  const added = after.cases.filter(({ name, group }) => !group && !known.has(name)).map(({ name }) => name);
  const goneOf = (names: string): string => {
    // a file that cannot be loaded, or a package that does not build, takes its tests along
    if (after.code !== 0) return english('verdict.notRun', { names });
    // some of them may have another name now
    return added.length > 0
      ? english('verdict.goneNew', { names, added: nameList(added) })
      : english('verdict.gone', { names });
  };
  const skipped = ran.filter(({ name }) => now.get(name)?.outcome === 'skipped').map(({ name }) => name);
  const fewer = ran.flatMap(({ name, tests: had }) => {
    const has = now.get(name)?.tests;
    return had !== undefined && has !== undefined && has < had ? [`${name} (${had} before, ${has} now)`] : [];
  });
  return [
    ...(gone.length > 0 ? [goneOf(nameList(gone))] : []),
    ...(skipped.length > 0 ? [english('verdict.skipped', { names: nameList(skipped) })] : []),
    ...(fewer.length > 0 ? [english('verdict.fewer', { names: nameList(fewer) })] : []),
  ];
}

/** Whether a test belongs to a file or class that passes, where the runner names single tests only if one fails. */
function hasPassedGroup(name: string, now: ReadonlyMap<string, TestCase>): boolean {
  const group = now.get(groupOf(name));
  return group?.group === true && group.outcome === 'passed';
}

/**
 * How long the tests may run, in ms: as they took before with room for more, between a minimum and an hour.
 */
export const testBudget = (before: Pick<TestRun, 'state' | 'ms'> | null, usual: number): number =>
  before?.state === 'ended' ? Math.min(Math.max(usual, before.ms * 3), 60 * 60_000) : usual;
