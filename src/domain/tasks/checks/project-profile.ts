import type { WhyUnchecked } from '../../../contracts/baseline.ts';
import type { Profile } from '../../../contracts/workspace-ops.ts';
import { blockQuote, inline } from '../../text/foreign-text.ts';
import { english, type Say } from '../../texts/say.ts';
import { MINUTE, span } from '../../time.ts';
import { type AskedHost, HOSTS_NAMED, shownHost, warningsAbout } from '../egress.ts';
import type { Registry } from '../registries/registries.ts';
import type { TestRun } from './verdict.ts';

/**
 * What is known of a project besides its files: how it is installed, built, tested, linted and run, how long that takes,
 * and what of it fails before anybody has changed anything.
 */

const PARTS = ['install', 'build', 'types', 'test', 'lint', 'run'] as const;
export type Part = (typeof PARTS)[number];
/** The parts of a check, in their order. */
const CHECKED_PARTS = ['install', 'build', 'types', 'lint', 'test'] as const;
type CheckedPart = (typeof CHECKED_PARTS)[number];

/** How a person names what is done. */
export const DONE_AS: Record<Part, string> = {
  install: 'installed',
  build: 'built',
  types: 'type-checked',
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

const code = (text: string): string => `\`${inline(text, 200).replaceAll('`', "'")}\``;

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
export function checkQuestion(
  {
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
  },
  say: Say = english,
): string {
  const managers = [...new Set(registries.map(({ manager }) => manager))];
  const needs = [
    ...managers.map((manager) => {
      const own = registries.filter((each) => each.manager === manager);
      const hosts = own.map((at) => shownHost(at, say)).join(', ');
      return say('check.registry', { manager, count: own.length, hosts });
    }),
    ...wanted.map((at) => shownHost(at, say)),
    ...(environment === null ? [] : [say('check.environment', { file: inline(environment, 100) })]),
  ];
  const question = say(wanted.length > 0 ? 'check.mayMore' : 'check.may', { workspace, what: say.list(needs) });
  return [question, ...warningsAbout(own, [...registries, ...wanted], say)].join('\n');
}

/** Nothing was checked: a no, a project that is gone, or something that failed. */
export const uncheckedText = (workspace: string, why: WhyUnchecked['why'], say: Say = english): string =>
  say(why === 'no' ? 'check.no' : why === 'gone' ? 'check.gone' : 'check.failed', { workspace });

const NAMES_SHOWN = 5;
const LINES_SHOWN = 8;

/** What a check has found, the result first. */
export function checkedText(workspace: string, checked: Checked, flaky: readonly string[], say: Say = english): string {
  const { parts, tests: counted, refused = [] } = checked;
  const failed = CHECKED_PARTS.filter((part) => parts[part]?.ok === false);
  const testsSay = testsText(parts.test, counted, say);
  const [first] = failed;
  const end = first && (first !== 'test' || !counted?.failing.length) ? lastLines(parts[first]?.output) : '';
  const hosts = say.list(refused.slice(0, NAMES_SHOWN).map((at) => shownHost(at, say)));
  return [
    first ? brokenText(workspace, failed, testsSay, say) : readyText(workspace, parts, testsSay, say),
    ...(counted?.failing.length ? [say('check.failing', { names: names(counted.failing, say) })] : []),
    ...(flaky.length > 0 ? [say('check.flaky', { names: names(flaky, say) })] : []),
    ...(refused.length > 0 ? [say('check.wanted', { hosts })] : []),
    ...(end ? [`${say('check.ended', { command: code(parts[first!]!.command) })}\n${blockQuote(end)}`] : []),
  ].join('\n');
}

function readyText(workspace: string, { install, build }: Checked['parts'], testsSay: string, say: Say): string {
  const did = [
    ...(install?.ok ? [say('check.installs', { span: span(install.ms) })] : []),
    ...(build?.ok ? [say('check.builds', { span: span(build.ms) })] : []),
  ];
  const found = [
    ...(did.length > 0 ? [say('check.it', { what: say.list(did) })] : []),
    ...(testsSay ? [testsSay] : []),
  ];
  return say('check.ready', { workspace, what: found.length > 0 ? say.list(found) : say('check.nothing') });
}

function brokenText(workspace: string, failed: readonly CheckedPart[], tests: string, say: Say): string {
  const what = say.list(failed.map((part) => say(`check.not.${part}`)));
  return tests ? say('check.brokenTests', { workspace, what, tests }) : say('check.broken', { workspace, what });
}

function testsText(test: PartResult | undefined, counted: Checked['tests'], say: Say = english): string {
  if (!test) return '';
  const took = span(test.ms);
  if (!counted) return test.ok ? say('check.testsPass', { span: took }) : '';
  const { passed, failed } = counted;
  return failed === 0
    ? say('check.allPass', { count: passed, span: took })
    : say('check.someFail', { failed, count: passed + failed, span: took });
}

const names = (all: readonly string[], say: Say = english): string => {
  const more = all.length - NAMES_SHOWN;
  const files = all.slice(0, NAMES_SHOWN).map(code).join(', ');
  return more > 0 ? say('undone.more', { files, count: more }) : files;
};

const lastLines = (output = ''): string => output.trim().split('\n').slice(-LINES_SHOWN).join('\n').slice(-1_000);

/** What is known of a project, for its person. */
export function profileText(
  workspace: string,
  commands: Commands,
  { said, checked, flaky }: ProjectProfile,
  say: Say = english,
): string {
  const lines = PARTS.flatMap((part) => {
    const line = commands[part];
    if (line === undefined) return [];
    const known = part === 'run' ? undefined : checked?.parts[part];
    const took = known && known.command === line ? (known.ok ? `, ${span(known.ms)}` : say('profile.fails')) : '';
    const asSaid = said[part] === undefined ? '' : say('profile.asSaid');
    return [`- ${say('profile.line', { part, command: code(line) })}${asSaid}${took}`];
  });
  const { test } = checked?.parts ?? {};
  const counted = testsText(test, checked?.tests ?? null, say);
  return [
    ...(lines.length > 0 ? [say('profile.how', { workspace }), ...lines] : []),
    ...(counted ? [say('profile.checked', { tests: counted })] : []),
    ...(flaky.length > 0 ? [say('profile.flaky', { names: names(flaky, say) })] : []),
    ...(commands.test === undefined ? [say('profile.unknown', { workspace })] : []),
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
