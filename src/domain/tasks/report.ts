import { moneyText, tokensText } from '../model/price-book.ts';
import { blockQuote, codeFence, inline, visible } from '../text/foreign-text.ts';
import { cut, prefix } from '../text/storable.ts';
import { noteAgain, sayAgain, sayWhole } from '../texts/again.ts';
import { english, type Say } from '../texts/say.ts';
import { isBroken, type PartCheck } from './checks/part-checks.ts';
import type { Verdict } from './checks/verdict.ts';
import { shownHost } from './egress.ts';

/**
 * The message that a person gets when a task is over: the request, the changes, tests, time, cost, and how to see or
 * undo it.
 */

export interface Report {
  /** what a person said too late for the agent */
  unheard?: readonly string[];
  /** by which its person calls it */
  number: number;
  goal: string;
  /** name of the pull request that it works on. Its messages show what was changed, and ask what becomes of it. */
  pull?: string;
  harness: string;
  workspace: string;
  /** it worked on its own branch, beside the files of the workspace */
  worktree?: boolean;
  /** it followed a plan that the person had agreed to */
  planned?: boolean;
  state: 'completed' | 'failed' | 'cancelled';
  reason: string;
  seconds: number;
  /** the part of them in which it waited for answers */
  waitedSeconds?: number;
  /** hosts that its programs reached, and bytes out and in */
  reached?: ReadonlyArray<{ host: string; port: number; connections: number; sent: number; received: number }>;
  /** hosts that its programs wanted and did not get, the most requested first */
  refused?: ReadonlyArray<{ host: string; port: number; refused: number }>;
  spent: { calls: number; inputTokens: number; outputTokens: number; microUsd: number; unpriced?: number };
  result: {
    changes: {
      commit: string | null;
      branch: string | null;
      files: ReadonlyArray<{ path: string; status: string; added: number; removed: number }>;
      /** number of files, when `files` does not list all */
      filesChanged?: number;
      added: number;
      removed: number;
      note?: string;
    } | null;
    tests: { command: string; ok: boolean; output: string } | null;
    said: string;
    /** what went wrong at its end, and what to do */
    problem?: string;
    /** why no tests were run */
    untested?: string;
    /** the command with which its agent ran tests, where the project names none */
    testedBy?: string;
    verdict?: Verdict;
    /** build, types and lint */
    parts?: readonly PartCheck[];
    pictures?: readonly PagePicture[];
  };
}

/**
 * A page that the changes touch. `before` and `after`: attachments of the chat; the same one when nothing of it looks
 * different.
 */
export interface PagePicture {
  page: string;
  before?: string;
  after?: string;
}

const SUBJECT_CHARS = 72;
const SUBJECT_LINE = /^[ \t>*_`#-]{0,6}commit(?: message| subject)?:(.{1,300})$/gim;

/** For the agent, after the goal. */
export const ABOUT_COMMIT = `End your last message with a line "Commit: " and a summary of what you changed, in at most 60 characters.`;

/** The summary of its change that an agent ends its message with, and the message without it. */
export function subjectIn(said: string): { subject: string | null; said: string } {
  const found = [...said.matchAll(SUBJECT_LINE)].at(-1);
  const subject = inline(found?.[1] ?? '', 400)
    .replace(/(?<![*_`"' .])[*_`"' .]+$/, '')
    .replace(/^[*_`"' ]+/, '');
  if (!found || subject === '') return { subject: null, said };
  const rest = `${said.slice(0, found.index)}${said.slice(found.index + found[0].length)}`;
  return { subject: cut(subject, SUBJECT_CHARS), said: rest.trim() };
}

const FILES_SHOWN = 12;
const SAID_SHOWN = 1500;
const TEST_LINES_SHOWN = 12;

/** The workflow's reason for a task that somebody cancelled. */
const CANCELLED = 'It was cancelled.';
const CANCELLED_EARLY = 'It was cancelled before it began.';

/** Whether the reason adds anything to the state. */
export const saysMore = ({ state, reason }: { state: string; reason: string }): boolean =>
  state !== 'completed' && reason !== '' && reason !== CANCELLED && reason !== CANCELLED_EARLY;

export function reportText(report: Report, say: Say = english): string {
  const { result } = report;
  const said = result.said.length > SAID_SHOWN ? `${prefix(result.said, SAID_SHOWN)}\n[cut]` : result.said;
  const goal = `"${inline(report.goal, GOAL_SHOWN)}"`;
  const parts = [
    [headlineOf(report, say), ...(report.pull || (said.trim() && report.state === 'completed') ? [] : [goal])].join(
      ' ',
    ),
    // the agent's words may be a stranger's, so they are quoted
    said.trim() && blockQuote(said),
    result.problem
      ?.split('\n')
      .map((line) => sayWhole(line, 'report.', say))
      .join('\n'),
    unheardText(report.unheard ?? [], say),
    ...(saysMore(report) ? [inline(sayAgain(report.reason, say), 1_000)] : []),
    result.verdict?.reasons.map((reason) => sayWhole(reason, 'verdict.', say)).join('\n'),
    failedTests(report, say),
    ...brokenParts(report, say),
    changesText(report, say),
    untestedText(report, say),
    testedByText(report, say),
    ...(report.planned ? [say('report.planned')] : []),
    reachedText(report.reached ?? [], say),
    refusedText(report.refused ?? [], say),
    `${duration(report.seconds)}${waitedText(report, say)}${spentText(report.spent, say)}.`,
    picturesText(result.pictures ?? [], say),
  ];
  return parts.filter(Boolean).join('\n\n');
}

/** The name of a file or page where markup would be read. */
export const captionOf = (name: string): string => inline(name, 80).replace(/[^\p{L}\p{N}/._ -]/gu, '?');

/** Channels send these as pictures, with what stands in the brackets. */
const picturesText = (pictures: readonly PagePicture[], say: Say): string =>
  pictures
    .flatMap(({ page, ...taken }) => {
      const name = captionOf(page);
      const shown = (when: 'before' | 'after' | 'same', id: string) =>
        `![${say('report.picture', { when, page: name })}](attachment:${id})`;
      const { before, after } = taken;
      if (before !== undefined && before === after) return [shown('same', before)];
      return [...(before ? [shown('before', before)] : []), ...(after ? [shown('after', after)] : [])];
    })
    .join('\n');

function unheardText(words: readonly string[], say: Say): string {
  if (words.length === 0) return '';
  const said = words.map((each) => inline(each, 200)).join('; ');
  return say('report.unheard', { words: said });
}

const GOAL_SHOWN = 100;

/** The result in one line. */
function headlineOf(report: Report, say: Say): string {
  const { state, reason, workspace, pull, result } = report;
  const where = pull ? say('report.on', { pull }) : say('report.in', { workspace });
  const end = pull && !result.said.trim() ? '.' : ':';
  if (state === 'failed') return say('report.failed', { where });
  if (state === 'cancelled')
    return say(reason === CANCELLED_EARLY ? 'report.stoppedEarly' : 'report.stopped', { where }) + end;
  if (result.problem !== undefined) return say('report.uncommitted', { where });
  const how = result.verdict ? verdictHeadline(result.verdict.headline, say) : testsHeadline(result, say);
  return `${say('report.done', { where })}${how}${/[.।]$/.test(how) ? '' : end}`;
}

/** Without a verdict, as in results of versions before. */
function testsHeadline({ tests, changes }: Report['result'], say: Say): string {
  if (tests) return say(tests.ok ? 'tests.pass' : 'tests.fail');
  return changes?.files.length ? say('tests.none') : '';
}

const HEADLINES = [
  ...(['tests.pass', 'tests.passAgain', 'tests.passGone', 'tests.passWeaker', 'tests.fail'] as const),
  ...(['tests.passChanged', 'tests.passExpected', 'tests.fewerChecks', 'tests.typesFail'] as const),
  ...(['tests.failAsBefore', 'tests.timedOut', 'tests.none', 'tests.buildFails'] as const),
  ...(['tests.buildFailsAsBefore', 'tests.lintFails'] as const),
];
const COUNTED = ['tests.someFail', 'tests.someFailAsBefore', 'tests.someFailSometimes'] as const;

/** A verdict is stored, and signed, in English. */
export function verdictHeadline(headline: string, say: Say): string {
  const key = HEADLINES.find((each) => english(each) === headline);
  if (key) return say(key);
  const count = Number(/\d+/.exec(headline)?.[0]);
  const counted = COUNTED.find((each) => english(each, { count }) === headline);
  return counted ? say(counted, { count }) : headline;
}

function changesText({ number, state, worktree, pull, result: { changes } }: Report, say: Say): string {
  if (!changes) return '';
  const note = changes.note && withOwnBranch(noteAgain(changes.note, say), say);
  if (pull) return note ?? '';
  if (changes.files.length === 0) {
    return [say(state === 'completed' ? 'report.noFile' : 'report.nothing'), note].filter(Boolean).join('\n\n');
  }
  const total = changes.filesChanged ?? changes.files.length;
  const counts = { count: total, added: changes.added, removed: changes.removed };
  const where =
    changes.commit && changes.branch
      ? withOwnBranch(say('report.changedOn', { ...counts, branch: changes.branch }), say)
      : say('report.changed', counts);
  // words in place of + and -: a channel may show a leading sign as a bullet
  const files = changes.files
    .slice(0, FILES_SHOWN)
    .map((file) => `- ${say('report.file', { ...file, path: code(file.path) })}`);
  const left = total - Math.min(FILES_SHOWN, changes.files.length);
  const more = total > FILES_SHOWN ? [`- ${say('report.more', { count: left })}`] : [];
  const how = changes.commit ? say('report.undo', { words: worktree ? `undo ${number}` : 'undo' }) : '';
  return [[`${where}:`, ...files, ...more].join('\n'), note, how].filter(Boolean).join('\n\n');
}

/** The name of a task's own branch has its id, which is nothing for a message. */
const withOwnBranch = (text: string, say: Say): string =>
  text.replaceAll(/(?:\b([Bb])ranch )?\bfetch\/tsk_[\w-]+/g, (_, first) => {
    const own = say('report.ownBranch');
    return first === 'B' ? own.charAt(0).toUpperCase() + own.slice(1) : own;
  });

const untestedText = ({ state, result: { tests, untested } }: Report, say: Say): string =>
  !tests && state === 'completed' && untested
    ? say('report.untested', { why: sayWhole(untested, 'untested.', say) })
    : '';

/** A proposal for the profile of the project: the person takes it over by saying it. */
const testedByText = ({ workspace, result: { testedBy } }: Report, say: Say): string =>
  testedBy
    ? say('report.testedBy', {
        command: code(testedBy),
        words: `${workspace} is tested by ${inline(testedBy, 100)}`,
      })
    : '';

function failedTests({ result: { tests } }: Report, say: Say): string {
  if (!tests || tests.ok) return '';
  return `${say('report.failing', { command: code(tests.command) })}\n${lastLines(tests.output)}`;
}

const brokenParts = ({ result: { parts = [] } }: Report, say: Say): string[] =>
  parts.filter(isBroken).map(({ command, output }) => {
    const head = say('report.ended', { command: code(command) });
    return `${head}\n${lastLines(output)}`;
  });

const lastLines = (output: string): string =>
  codeFence(visible(output).split('\n').slice(-TEST_LINES_SHOWN).join('\n'));

/** What test runners print that found nothing to run; many of them end with success then. */
const NO_TESTS = [
  /^Ran 0 tests in /m,
  /^(?:#|ℹ) tests 0$/m,
  /\bno tests ran\b/,
  /\bNo test(?:s| files) found\b/i,
  /\[no test files\]|\[no tests to run\]/,
  /^running 0 tests$/m,
  /\bNo tests (?:to run|executed)\b/i,
  /^0 (?:examples|runs|tests), 0 /m,
  /^ *0 passing/m,
  /^make: (?:Nothing to be done for|'.{1,80}' is up to date)/m,
];
/** A part of the project has tests: something passed, failed, or could not be built. */
const SOME_TESTS = [
  /\b[1-9]\d* (?:passed|failed|passing|failing|errors?|examples?|runs|assertions)\b/,
  /^Ran [1-9]/m,
  /^(?:#|ℹ) tests [1-9]/m,
  /^running [1-9]/m,
  /^FAIL\b/m,
  /^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)$/m,
  /\bTests run: [1-9]/,
];

/** Whether a test runner says that it has run no test at all. */
export const hasNoTests = (output: string): boolean =>
  NO_TESTS.some((none) => none.test(output)) && !SOME_TESTS.some((some) => some.test(output));

const HOSTS_SHOWN = 8;

function reachedText(reached: NonNullable<Report['reached']>, say: Say): string {
  if (reached.length === 0) return '';
  const shown = reached.slice(0, HOSTS_SHOWN).map((one) =>
    say('report.sizes', {
      host: shownHost(one, say),
      sent: size(one.sent, say),
      received: size(one.received, say),
    }),
  );
  const more = reached.slice(HOSTS_SHOWN);
  const sent = more.reduce((sum, each) => sum + each.sent, 0);
  const rest = more.length > 0 ? [say('report.moreHosts', { count: more.length, sent: size(sent, say) })] : [];
  return say('report.reached', { hosts: [...shown, ...rest].join(', ') });
}

function refusedText(refused: NonNullable<Report['refused']>, say: Say): string {
  if (refused.length === 0) return '';
  const shown = refused.slice(0, HOSTS_SHOWN).map((one) => {
    const host = one.port === 0 ? say('report.otherHosts') : shownHost(one, say);
    return one.refused === 1 ? host : say('report.times', { host, count: one.refused });
  });
  const more = refused.length - shown.length;
  return say('report.refused', {
    hosts: [...shown, ...(more > 0 ? [say('report.more', { count: more })] : [])].join(', '),
  });
}

function size(bytes: number, say: Say): string {
  if (bytes < 1_000) return say('report.bytes', { count: bytes });
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** As code, because a name may hold markup or a line end. */
const code = (text: string): string => `\`${visible(text.replaceAll('`', "'").replace(/\p{Cc}/gu, '?'))}\``;

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const waitedText = ({ waitedSeconds = 0 }: Report, say: Say): string =>
  waitedSeconds >= 60 ? say('status.waited', { span: duration(waitedSeconds) }) : '';

function spentText({ calls, inputTokens, outputTokens, microUsd, unpriced = 0 }: Report['spent'], say: Say): string {
  if (calls === 0) return '';
  const tokens = inputTokens + outputTokens;
  const money = microUsd > 0 ? `, ${moneyText({ tokens, microUsd, unpriced }, say)}` : '';
  return say('report.tokens', { tokens: tokensText(tokens) }) + money;
}
