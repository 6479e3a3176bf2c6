import type { WhyUnchecked } from '../../../contracts/baseline.ts';
import type { Profile } from '../../../contracts/workspace-ops.ts';
import { blockQuote, inline } from '../../text/foreign-text.ts';
import { MINUTE, span } from '../../time.ts';
import { type AskedHost, HOSTS_NAMED, shownHost, warningsAbout } from '../egress.ts';
import type { Registry } from '../registries/registries.ts';
import type { TestRun } from './verdict.ts';

/**
 * What is known of a project besides its files: how it is installed, built, tested, linted and run, how long that takes,
 * and what of it fails before anybody has changed anything.
 */

const PARTS = ['install', 'build', 'test', 'lint', 'run'] as const;
export type Part = (typeof PARTS)[number];
/** The parts of a check, in their order. */
const CHECKED_PARTS = ['install', 'build', 'lint', 'test'] as const;
type CheckedPart = (typeof CHECKED_PARTS)[number];

/** How a person names what is done. */
export const DONE_AS: Record<Part, string> = {
  install: 'installed',
  build: 'built',
  test: 'tested',
  lint: 'linted',
  run: 'started',
};

/** Command lines by part. */
export type Commands = Partial<Record<Part, string>>;

/** How one part of a check ended. */
export interface PartResult {
  command: string;
  ok: boolean;
  ms: number;
  /** the end of what it printed, where it failed */
  output?: string;
}

/** A check of one commit: on a copy of its files, with nothing installed before. */
export interface Checked {
  commit: string;
  /** digest of the files that say what has to be installed */
  dependencies: string;
  at: string;
  parts: Partial<Record<CheckedPart, PartResult>>;
  /** what the tests said; null: they were not run, or named none */
  tests: { passed: number; failed: number; skipped: number; failing: string[] } | null;
  /** hosts that its programs wanted and nobody has allowed */
  refused?: AskedHost[];
}

export interface ProjectProfile {
  /** it was brought in, or something was said of it */
  isKnown: boolean;
  /** command lines of a person, which count more than the files of the project */
  said: Commands;
  checked: Checked | null;
  /** names of tests that failed and passed at the same commit */
  flaky: string[];
  /** the last question whether it may be checked, while nobody has said yes to it */
  asked: AskedCheck | null;
}

/** What the owner was asked to allow for a check. */
export interface AskedCheck {
  questionId: string;
  registries: AskedHost[];
  /** of the environment that the repository asks for; null: it brings none of its own */
  environment: string | null;
}

/** A check that a person asked for. */
export interface WantedCheck {
  round: string;
  chatId: string;
  /** ISO 8601 */
  at: string;
}

export const NO_PROFILE: ProjectProfile = { isKnown: false, said: {}, checked: null, flaky: [], asked: null };

/**
 * The command lines of a project: those of a person, and for the rest those that its files name, now or at the last
 * check.
 */
export function commandsOf(
  found: Partial<Profile> | null,
  { said, checked }: Pick<ProjectProfile, 'said'> & Partial<ProjectProfile>,
): Commands {
  const commands = PARTS.flatMap((part) => {
    const before = part === 'run' || found ? undefined : checked?.parts[part]?.command;
    const line = said[part] ?? found?.[part]?.join(' ') ?? before;
    return line ? [[part, line] as const] : [];
  });
  return Object.fromEntries(commands);
}

/** Words of a command line; `'…'` and `"…"` hold words with spaces. */
export const splitWords = (line: string): string[] =>
  [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  );

/** A command line of a person as a program and its arguments: what only a shell understands is given to one. */
export const argvOf = (line: string): string[] =>
  /[|&;<>()$`\\*?#~{}[\]!\n]|^\w+=/.test(line) ? ['bash', '-lc', line] : splitWords(line);

/** The command line of an argv, as its person wrote it. */
export const lineOf = (argv: readonly string[]): string =>
  argv[0] === 'bash' && argv[1] === '-lc' ? argv[2]! : argv.join(' ');

/** The argv of a part: that of the person's line, or that of the files. Null when neither says it. */
export const argvFor = (part: Part, found: Partial<Profile> | null, said: Commands): string[] | null =>
  said[part] === undefined ? (found?.[part] ?? null) : argvOf(said[part]);

/** How much longer than the last time a command may take. */
const MARGIN = 3;
const LONGEST_MS = 60 * MINUTE;

/** How long a command may run that took `ms` at the last check, between `usual` and an hour. */
export const budgetOf = (ms: number | undefined, usual: number): number =>
  ms === undefined ? usual : Math.min(Math.max(usual, ms * MARGIN), Math.max(usual, LONGEST_MS));

/** So many commits later a check says little. */
const FAR = 50;

/** Whether a check has to be made again before the next task. */
export const isOutdated = (
  { dependencies }: Pick<Checked, 'dependencies'>,
  now: { dependencies: string; ahead: number | null },
): boolean => dependencies !== now.dependencies || now.ahead === null || now.ahead > FAR;

const list = (names: readonly string[]): string =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
const code = (text: string): string => `\`${inline(text, 200).replaceAll('`', "'")}\``;
const tests = (count: number): string => `${count} ${count === 1 ? 'test' : 'tests'}`;

/**
 * The hosts that a check failed without, as far as it shows. `now`: digest of the files that say what has to be
 * installed.
 */
export function wantedHosts(checked: Checked | null, now: string): AskedHost[] {
  if (!checked || checked.dependencies !== now) return [];
  const { install, build, test } = checked.parts;
  const lacks = install?.ok === false || build?.ok === false || (test?.ok === false && checked.tests === null);
  // a list of hosts has no addresses of IPv6
  return lacks ? (checked.refused ?? []).filter(({ host }) => !host.includes(':')).slice(0, HOSTS_NAMED) : [];
}

/**
 * The one question about a project that has come in. `wanted`: hosts that a check failed without. `environment`: the
 * file that brings an image or commands of its own, which are shown below the question. `own`: mirrors of the owner.
 */
export function checkQuestion({
  workspace,
  registries,
  wanted = [],
  environment,
  own = [],
}: {
  workspace: string;
  registries: readonly Registry[];
  wanted?: readonly AskedHost[];
  environment: string | null;
  own?: readonly AskedHost[];
}): string {
  const managers = [...new Set(registries.map(({ manager }) => manager))];
  const needs = [
    ...managers.map((manager) => {
      const own = registries.filter((each) => each.manager === manager);
      return `${manager}'s ${own.length === 1 ? 'registry' : 'registries'} (${own.map((at) => shownHost(at)).join(', ')})`;
    }),
    ...wanted.map((at) => shownHost(at)),
    ...(environment === null ? [] : [`what ${inline(environment, 100)} asks for (below)`]),
  ];
  const head =
    wanted.length > 0
      ? `${workspace} could not be installed and tested without more than it may reach.`
      : `I can install and test ${workspace} once, on a copy, so that I know what is green before I change anything.`;
  const question = `${head} It needs ${list(needs)}. Allow, and remember for this project?`;
  return [question, ...warningsAbout(own, [...registries, ...wanted])].join('\n');
}

/** Nothing was checked: a no, a project that is gone, or something that failed. */
export const uncheckedText = (workspace: string, why: WhyUnchecked['why']): string =>
  why === 'no'
    ? `${workspace} stays unchecked. \`check ${workspace}\` asks again.`
    : why === 'gone'
      ? `${workspace} could not be checked: its folder is not there any more.`
      : `${workspace} could not be checked, because its container failed again and again. \`check ${workspace}\` tries once more.`;

/** For a person who wants a check of a project of which nothing is known. */
export const unknownText = (workspace: string): string =>
  `Nothing was checked: ${workspace} has no commit, or its files do not say how it is installed or tested. Say it: \`${workspace} is tested by …\`.`;

const DONE: Record<CheckedPart, string> = {
  install: 'installs',
  build: 'builds',
  lint: 'is linted',
  test: 'is tested',
};
const NOT_DONE: Record<CheckedPart, string> = {
  install: 'cannot be installed',
  build: 'does not build',
  lint: 'has lint errors',
  test: 'has failing tests',
};
const NAMES_SHOWN = 5;
const LINES_SHOWN = 8;

/** What a check has found, the result first. */
export function checkedText(workspace: string, checked: Checked, flaky: readonly string[]): string {
  const { parts, tests: counted, refused = [] } = checked;
  const failed = CHECKED_PARTS.filter((part) => parts[part]?.ok === false);
  const well = CHECKED_PARTS.filter((part) => part !== 'test' && part !== 'lint' && parts[part]?.ok);
  const did = well.map((part) => `${DONE[part]} (${span(parts[part]!.ms)})`);
  const testsSay = testsText(parts.test, counted);
  const head =
    failed.length === 0
      ? `${workspace} is ready: ${list([...(did.length > 0 ? [`it ${list(did)}`] : []), ...(testsSay ? [testsSay] : [])]) || 'nothing of it has to be installed or tested'}.`
      : `${workspace} ${list(failed.map((part) => NOT_DONE[part]))}${testsSay ? `: ${testsSay}` : ''}. That is so before any change of mine.`;
  const [first] = failed;
  const end = first && (first !== 'test' || !counted?.failing.length) ? lastLines(parts[first]?.output) : '';
  return [
    head,
    ...(counted?.failing.length ? [`Failing: ${names(counted.failing)}.`] : []),
    ...(flaky.length > 0 ? [`These pass only sometimes: ${names(flaky)}.`] : []),
    ...(refused.length > 0
      ? [
          `It also wanted ${list(refused.slice(0, NAMES_SHOWN).map((at) => shownHost(at)))}, which nobody has allowed: a task that needs it asks.`,
        ]
      : []),
    ...(end ? [`${code(parts[first!]!.command)} ended with:\n${blockQuote(end)}`] : []),
  ].join('\n');
}

function testsText(test: PartResult | undefined, counted: Checked['tests']): string {
  if (!test) return '';
  const took = ` (${span(test.ms)})`;
  if (!counted) return test.ok ? `its tests pass${took}` : '';
  const { passed, failed } = counted;
  if (failed === 0) return `${tests(passed)} ${passed === 1 ? 'passes' : 'pass'}${took}`;
  return `${failed} of ${tests(passed + failed)} ${failed === 1 ? 'fails' : 'fail'}${took}`;
}

const names = (all: readonly string[]): string => {
  const more = all.length - NAMES_SHOWN;
  return `${all.slice(0, NAMES_SHOWN).map(code).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

const lastLines = (output = ''): string => output.trim().split('\n').slice(-LINES_SHOWN).join('\n').slice(-1_000);

/** What is known of a project, for its person. */
export function profileText(workspace: string, commands: Commands, { said, checked, flaky }: ProjectProfile): string {
  const lines = PARTS.flatMap((part) => {
    const line = commands[part];
    if (line === undefined) return [];
    const known = part === 'run' ? undefined : checked?.parts[part];
    const took = known && known.command === line ? (known.ok ? `, ${span(known.ms)}` : ', fails') : '';
    return [`- ${DONE_AS[part]} by ${code(line)}${said[part] === undefined ? '' : ', as you said'}${took}`];
  });
  const { test } = checked?.parts ?? {};
  const counted = testsText(test, checked?.tests ?? null);
  return [
    ...(lines.length > 0 ? [`How ${workspace} is worked on:`, ...lines] : []),
    ...(counted ? [`At the last check ${counted}.`] : []),
    ...(flaky.length > 0 ? [`These tests pass only sometimes: ${names(flaky)}.`] : []),
    ...(commands.test === undefined
      ? [`How ${workspace} is tested is not known. Say it: \`${workspace} is tested by …\`.`]
      : []),
  ].join('\n');
}

/** The same for an agent, after its goal; empty when its files say all that is known. */
export function profileForAgent(commands: Commands, { said, checked, flaky }: ProjectProfile): string {
  if (!checked && Object.keys(said).length === 0) return '';
  const lines = PARTS.flatMap((part) => {
    const line = commands[part];
    const known = part === 'run' ? undefined : checked?.parts[part];
    const took = known?.command === line && known?.ok ? ` (took ${span(known.ms)})` : '';
    return line === undefined ? [] : [`- ${DONE_AS[part]} by: ${inline(line, 300)}${took}`];
  });
  const failing = checked?.tests?.failing ?? [];
  return [
    'What is known of this project:',
    ...lines,
    ...(failing.length > 0 ? [`These tests failed before your work: ${names(failing)}.`] : []),
    ...(flaky.length > 0 ? [`These tests pass only sometimes: ${names(flaky)}.`] : []),
  ].join('\n');
}

/**
 * Names of tests that failed in one run and passed in another of the same files. Runs of different days do not show
 * that: packages that git does not look at may have come or gone in between.
 */
export function flakyIn(runs: ReadonlyArray<Pick<TestRun, 'cases'>>): string[] {
  const outcomes = new Map<string, Set<string>>();
  for (const { cases } of runs)
    for (const { name, outcome, group } of cases)
      if (!group) outcomes.set(name, (outcomes.get(name) ?? new Set()).add(outcome));
  return [...outcomes].flatMap(([name, seen]) => (seen.has('failed') && seen.has('passed') ? [name] : []));
}
