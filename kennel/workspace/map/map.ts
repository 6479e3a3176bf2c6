import { join } from 'node:path';
import type { RepositoryMap, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { git, type Repository } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { headOf, needRepository, type Place } from '../git/repository.ts';
import { openDefinitions } from './definitions.ts';
import { ranked } from './rank.ts';
import { readSources, type Source } from './sources.ts';

/** Characters of a map, and of one line in it. */
const MOST_CHARS = 2_000;
const MOST_LINE = 110;
/** Files whose definitions are looked for, and how long. */
const MOST_FILES = 60;
const PARSING_MS = 8_000;
/** Commits that say what was changed lately. */
const COMMITS = 200;

/**
 * The files of a repository that matter most, each with what it defines. Names of files and definitions are words of
 * others, so they are let in only as words of plain letters, and the reader is told whose they are.
 */
export async function repositoryMap(place: Place): Promise<WorkspaceAnswer> {
  const repository = needRepository(place);
  const { commit } = headOf(repository);
  const { sources, found } = readSources(repository);
  const lines = await linesOf(repository, ranked(sources, commit === null ? new Map() : changesByFile(repository)));
  const data: RepositoryMap = { commit, files: found, lines };
  return { ok: true, output: lines.join('\n'), data: { ...data } };
}

/** The lines of the first files that fit, in the order of their paths. */
async function linesOf(repository: Repository, sources: readonly Source[]): Promise<string[]> {
  const definitionsOf = await openDefinitions();
  const end = performance.now() + PARSING_MS;
  const lines: string[] = [];
  let chars = 0;
  for (const { path, language } of sources.slice(0, MOST_FILES)) {
    const names = performance.now() > end ? [] : await definitionsOf(join(repository.root, path), language);
    const line = lineOf(path, names);
    chars += line.length + 1;
    if (chars > MOST_CHARS) break;
    lines.push(line);
  }
  return lines.sort();
}

function lineOf(path: string, names: readonly string[]): string {
  let line = path;
  for (const [at, name] of names.entries()) {
    const longer = `${line}${at === 0 ? ': ' : ', '}${name}`;
    if (longer.length > MOST_LINE) return `${line}, …`;
    line = longer;
  }
  return line;
}

/** How often each file was changed in the latest commits; a later change counts more. */
function changesByFile(repository: Repository): Map<string, number> {
  const args = [
    'log',
    '-n',
    String(COMMITS),
    '--no-merges',
    '--no-renames',
    '--no-show-signature',
    '--name-only',
    '-z',
    '--format=%x01',
    'HEAD',
  ];
  const commits = utf8(git(repository, args, { maxOutput: 4 * 1024 * 1024 }))
    .split('\u0001')
    .slice(1);
  const changes = new Map<string, number>();
  for (const [at, files] of commits.entries()) {
    for (const path of files.split(/[\0\n]+/))
      if (path !== '') changes.set(path, (changes.get(path) ?? 0) + 1 - at / COMMITS);
  }
  return changes;
}
