import { join } from 'node:path';
import type { CheckedBy, TestEdits } from '../../../src/contracts/workspace-ops.ts';
import { readText } from '../files/text.ts';
import { content, type Repository } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { type Change, type Entry, entriesOf, isFile } from '../git/trees.ts';
import { LIMITS } from '../limits.ts';
import { TYPE_SCRIPTS } from '../project/commands.ts';
import { otherChanges } from './besides.ts';
import { changedPackages } from './changed-packages.ts';
import { factsOf, type Stored } from './record.ts';

/** What a task did to the checks of a project, by its files alone. */

const TESTS =
  /(?:^|[;{])[ \t]*(?:(?:it|test|specify)(?:\.\w{1,20})*(?:\(| ["'])|(?:async )?def test|func (?:Test|Fuzz)|#\[(?:\w{1,20}::)?test|@(?:Parameterized)?Test\b|public function test)/gm;
const CHECKS = /\b(?:expect|assert|should|verify)\w*|\bt\.(?:Error|Fatal|Fail)|\brequire\.[A-Z]/g;
const SKIPS =
  /\.(?:skip|only|todo|skipIf)\(|\bx(?:it|test|describe)\(|@pytest\.mark\.(?:skip|xfail)|\bpytest\.skip|@(?:unittest\.)?skip|#\[ignore|\bt\.Skip|@(?:Disabled|Ignore)\b|\bpending\(/g;
/** Names of files in which runners look for tests. */
const TEST_FILE =
  /(?:^|\/)(?:tests?|__tests__|specs?)\/|(?:^|\/)tests?[._-][^/]*$|[._-](?:tests?|specs?)\.\w+$|(?:Tests?|Spec)\.\w+$/;
/** Names of files that say which tests are run. */
const SETTINGS =
  /(?:^|\/)(?:(?:vitest|jest|karma|playwright|cypress|ava)\.(?:config|workspace)\.[cm]?[jt]s|\.mocharc\.\w{2,5}|pytest\.ini|tox\.ini|conftest\.py|phpunit\.xml(?:\.dist)?|\.rspec)$/;
/** Names of files that programs load before any test, and that no diff shows where they are ignored. */
const LOADED =
  /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.c?js|bunfig\.toml|(?:site|user)customize\.py|\.cargo\/config(?:\.toml)?)$/;
/** What such a file decides the end of a test with, whatever the test does. */
const HOOKS =
  /\bpytest_(?:runtest|pyfunc|sessionfinish|report|exception)\w*|\bexitstatus\b|\b_exit\(|\bprocess\.exit|script-shell|node-?options|\byarnPath\b|\bpreload\b|\brunner\s*=|\brustc(?:-workspace)?-wrapper\b/gi;
/** Loaded by Python without being asked for. */
const CUSTOM = /(?:^|\/)(?:site|user)customize\.py$/;
/** Names of files that hold expected results. */
const EXPECTED = /\.(?:snap|ambr)$|(?:^|\/)__(?:image_)?snapshots__\/|\.(?:approved|golden|expected)(?:\.\w+)?$/;

/** What the task did. `ended`: null between two of its runs. `line`: the command of a person that tests it. */
export function testEdits(
  repository: Repository,
  changes: readonly Change[],
  { before, ended, line = '' }: { before: Stored; ended: Stored | null; line?: string | undefined },
): TestEdits {
  const hidden = ended ? otherChanges(repository, before, ended) : [];
  const known = new Set(factsOf(repository, before).ignored);
  const fresh = ended ? factsOf(repository, ended).ignored.filter((path) => !known.has(path)) : [];
  const hiddenNames = [...fresh, ...hidden.flatMap(({ path, to }) => (to ? [path] : []))].map(utf8);
  const scripts = changes.flatMap((change) => changedScripts(repository, change));
  const run = filesRun([line, ...testLines(repository, before.tree)]);
  return {
    weakened: weakenedIn(repository, changes),
    settings: [
      ...new Set([
        ...changes.flatMap(({ path, from }) => {
          const name = utf8(path);
          const isSettings = from && (SETTINGS.test(name) || (run.has(name) && countsOf(repository, from).tests === 0));
          return LOADED.test(name) || isSettings ? [name] : [];
        }),
        ...scripts.flatMap(({ path, part }) => (part === 'test' ? [path] : [])),
        ...hiddenNames.filter((name) => LOADED.test(name) || SETTINGS.test(name)),
      ]),
    ],
    scripts,
    expected: changes.flatMap(({ path, from, to }) =>
      from && EXPECTED.test(utf8(path)) && losesLines(repository, from, to) ? [utf8(path)] : [],
    ),
    hooks: [
      ...[...changes, ...hidden].flatMap((change) => (isHook(repository, change) ? [utf8(change.path)] : [])),
      ...fresh.map(utf8).filter((name) => isHookOnDisk(repository, name)),
    ],
    packages: changedPackages(repository.root, before.at),
  };
}

/** Whether a file can decide the end of tests in more ways than before. */
function isHook(repository: Repository, { path, from, to }: Change): boolean {
  const name = utf8(path);
  const hooks = (entry: Entry | null) => hooksIn(name, textOf(repository, entry));
  return to !== null && hooks(to) > hooks(from);
}

/** The same for a file that git does not look at, and that was not there before. */
function isHookOnDisk({ root }: Repository, name: string): boolean {
  try {
    return hooksIn(name, readText(join(root, name), name, LIMITS.countedBytes)) > 0;
  } catch {
    return false;
  }
}

function hooksIn(name: string, text: string): number {
  if (CUSTOM.test(name)) return text === '' ? 0 : text.length;
  return SETTINGS.test(name) || LOADED.test(name) ? (text.match(HOOKS)?.length ?? 0) : 0;
}

/** Whether lines of a file are gone. New ones are no loss. */
function losesLines(repository: Repository, from: Entry, to: Entry | null): boolean {
  const lines = new Set(textOf(repository, to).split('\n'));
  return (
    !to ||
    textOf(repository, from) === '' ||
    textOf(repository, from)
      .split('\n')
      .some((line) => !lines.has(line))
  );
}

interface Counts {
  tests: number;
  checks: number;
  skips: number;
}

/** Test files of which less is left than there was. */
function weakenedIn(repository: Repository, changes: readonly Change[]): TestEdits['weakened'] {
  const counted = changes.slice(0, LIMITS.listedFiles).flatMap(({ path, from, to }) => {
    const [was, is] = [countsOf(repository, from), countsOf(repository, to)];
    return was.tests + is.tests > 0 ? [{ path: utf8(path), isNew: !from, was, is }] : [];
  });
  const isRenamed = counted.some(({ path, is }) => is.tests === 0 && TEST_FILE.test(path));
  // tests may move from file to file, but no runner looks into a file that is not named as one
  const has = ({ path, isNew, is }: (typeof counted)[number]) =>
    isRenamed && isNew && !TEST_FILE.test(path) ? 0 : is.tests;
  const fewer = counted.reduce((total, each) => total + has(each) - each.was.tests, 0) < 0;
  const weakened = counted.filter(
    ({ was, is }) => is.skips > was.skips || (is.tests < was.tests ? fewer : was.tests > 0 && is.checks < was.checks),
  );
  return weakened.map(({ path, was, is }) => ({
    path,
    tests: [was.tests, is.tests],
    checks: [was.checks, is.checks],
    skips: [was.skips, is.skips],
  }));
}

function countsOf(repository: Repository, entry: Entry | null): Counts {
  const text = textOf(repository, entry);
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return { tests: count(TESTS), checks: count(CHECKS), skips: count(SKIPS) };
}

/** Empty for what is no text, and for what no person has written. */
function textOf(repository: Repository, entry: Entry | null): string {
  if (!entry || !isFile(entry)) return '';
  const size = Number(content(repository, ['cat-file', '-s', entry.oid]));
  if (!(size <= LIMITS.countedBytes)) return '';
  const text = utf8(content(repository, ['cat-file', 'blob', entry.oid]));
  return text.includes('\0') ? '' : text;
}

const SCRIPTS: ReadonlyArray<[CheckedBy, readonly string[]]> = [
  ['test', ['test']],
  ['build', ['build']],
  ['types', TYPE_SCRIPTS],
  ['lint', ['lint']],
];
const TARGETS: ReadonlyArray<[CheckedBy, readonly string[]]> = [
  ['test', ['test', 'check']],
  ['build', ['build', 'all']],
  ['types', TYPE_SCRIPTS],
  ['lint', ['lint']],
];
/** The longest command that an answer tells, in characters. */
const LINE_CHARS = 500;

/** Commands that a file no longer names as it did. */
function changedScripts(repository: Repository, { path, from, to }: Change): NonNullable<TestEdits['scripts']> {
  const name = utf8(path);
  const commands = commandsIn(name);
  if (!from || !commands) return [];
  const [before, after] = [commands(textOf(repository, from)), commands(textOf(repository, to))];
  return [...before].flatMap(([key, { part, line: was }]) => {
    const is = after.get(key)?.line ?? null;
    return is === was
      ? []
      : [{ path: name, part, was: was.slice(0, LINE_CHARS), is: is === null ? null : is.slice(0, LINE_CHARS) }];
  });
}

type Commands = Map<string, { part: CheckedBy; line: string }>;

/** How the commands of a file are read; null for a file that names none. */
function commandsIn(path: string): ((text: string) => Commands) | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name === 'package.json') return scriptsIn;
  return name === 'Makefile' ? targetsIn : null;
}

function scriptsIn(json: string): Commands {
  let scripts: unknown;
  try {
    scripts = (JSON.parse(json.replace(/^\ufeff/, '')) as { scripts?: unknown } | null)?.scripts;
  } catch {
    return new Map();
  }
  if (!scripts || typeof scripts !== 'object') return new Map();
  const lines = new Map(Object.entries(scripts).filter(([, line]) => typeof line === 'string')) as Map<string, string>;
  return named(SCRIPTS, (name) => lines.get(name) ?? null);
}

/** The recipe of a target, with what it needs. */
function targetsIn(makefile: string): Commands {
  return named(TARGETS, (name) => {
    const lines = makefile.split('\n');
    const start = lines.findIndex((line) => line.startsWith(`${name}:`) && !line.startsWith(`${name}:=`));
    if (start < 0) return null;
    const rest = lines.slice(start + 1);
    const end = rest.findIndex((line) => line.trim() !== '' && !line.startsWith('\t'));
    const needs = lines[start]!.slice(name.length + 1).trim();
    const recipe = end < 0 ? rest : rest.slice(0, end);
    return [needs && `make ${needs}`, ...recipe]
      .map((line) => line.trim())
      .filter(Boolean)
      .join('\n');
  });
}

function named(parts: typeof SCRIPTS, lineOf: (name: string) => string | null): Commands {
  return new Map(
    parts.flatMap(([part, names]) =>
      names.flatMap((name) => {
        const line = lineOf(name);
        return line === null || line === '' ? [] : [[name, { part, line }] as const];
      }),
    ),
  );
}

/** How the files at the top of a state say that it is tested. */
function testLines(repository: Repository, tree: string): string[] {
  return ['package.json', 'Makefile'].flatMap((name) => {
    const entry = entriesOf(repository, tree).get(name);
    const commands = entry ? commandsIn(name)!(textOf(repository, entry)) : new Map();
    return [...(commands as Commands).values()].flatMap(({ part, line }) => (part === 'test' ? [line] : []));
  });
}

/** Words of commands, as paths from the top. */
const filesRun = (lines: readonly string[]): Set<string> =>
  new Set(lines.flatMap((line) => line.split(/[\s'"`;&|()]+/)).map((word) => word.replace(/^\.\//, '')));
