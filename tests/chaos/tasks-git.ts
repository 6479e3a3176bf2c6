import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogLine } from '../../src/contracts/kennel.ts';
import type { TestApp } from '../support/app.ts';
import { linesOf } from '../support/kennel-app.ts';
import type { Findings } from './audit.ts';
import { findTask, type Made } from './tasks-people.ts';
import { type Effect, SHARED } from './tasks-plan.ts';

/** What the person has not committed in every workspace: it is theirs before, during and after. */
const UNCOMMITTED = { 'README.md': 'a word of the person\n', 'notes.txt': 'not for git yet\n' };

export function leaveWork(path: string): void {
  appendFileSync(join(path, 'README.md'), UNCOMMITTED['README.md']);
  writeFileSync(join(path, 'notes.txt'), UNCOMMITTED['notes.txt']);
}

interface Workspace {
  path: string;
  git(...args: string[]): string;
}

const openWorkspace = (app: Pick<TestApp, 'home' | 'store'>, name: string): Workspace => {
  const path = join(app.home, 'workspaces', name);
  return {
    path,
    git: (...args) =>
      execFileSync('git', ['-c', 'safe.directory=*', ...args], { cwd: path, encoding: 'utf8', stdio: 'pipe' }),
  };
};

/**
 * Holds a workspace against what its tasks were told: effects once, in one commit each, the person's own work as it
 * was, nothing half done.
 */
export async function auditWorkspace(
  app: Pick<TestApp, 'home' | 'store'>,
  name: string,
  made: readonly Made[],
  findings: Findings,
): Promise<void> {
  const workspace = openWorkspace(app, name);
  const { git, path } = workspace;
  const here = made.filter(({ plan }) => plan.workspace === name);
  const left = new Set([' M README.md', '?? notes.txt']);
  const shared: string[] = [];
  for (const one of here) {
    const task = await findTask(app, one.taskId);
    const lines = await linesOf(app, one.taskId);
    const commits = git('log', '--format=%H', `--grep=^Fetch-Task: ${one.taskId}$`, 'main').split('\n').filter(Boolean);
    const files = filesOf(one.plan.effects.filter(({ file }) => file !== SHARED));
    const what = `${one.plan.name} (${one.taskId})`;
    if (task?.state === 'completed') {
      shared.push(
        ...one.plan.effects.flatMap((effect) =>
          effect.file === SHARED && effect.kind === 'line' ? [effect.text] : [],
        ),
      );
      if (commits.length !== 1)
        (commits.length ? findings.doubled : findings.lost).push(`${what} has ${commits.length} commits on main`);
      const changed = commits.flatMap((commit) =>
        git('show', '--name-only', '--format=', commit).split('\n').filter(Boolean),
      );
      const wanted = new Set(one.plan.effects.map(({ file }) => file));
      for (const file of changed)
        if (!wanted.has(file)) findings.doubled.push(`${what} committed ${file}, which is none of its own`);
      for (const [file, effects] of files)
        auditFile(what, file, readIn(git, 'main', file), effects, lines, true, findings);
      continue;
    }
    // what was done so far lies in the files and on a branch of its own
    if (commits.length > 0) findings.doubled.push(`${what} is ${task?.state}, and has a commit on main`);
    const branch = `fetch/${one.taskId}`;
    const onBranch = git('branch', '--list', branch).trim() !== '';
    for (const [file, effects] of files) {
      const onDisk = existsSync(join(path, file)) ? readFileSync(join(path, file), 'utf8') : null;
      if (onDisk !== null) left.add(`?? ${file}`);
      auditFile(what, file, onDisk, effects, lines, false, findings);
      if (onDisk !== null && (!onBranch || readIn(git, branch, file) !== onDisk))
        findings.lost.push(`${what}: ${file} is not on ${branch} as it is on the disk`);
    }
  }
  auditShared(name, readIn(git, 'main', SHARED), shared, findings);
  auditOwnWork(name, workspace, left, findings);
}

/** Effects by file, in their order. */
function filesOf(effects: readonly Effect[]): Map<string, Effect[]> {
  const files = new Map<string, Effect[]>();
  for (const effect of effects) files.set(effect.file, [...(files.get(effect.file) ?? []), effect]);
  return files;
}

const readIn = (git: Workspace['git'], rev: string, file: string): string | null => {
  try {
    return git('show', `${rev}:${file}`);
  } catch {
    return null;
  }
};

/** `whole`: every effect is there; otherwise those up to some moment are. */
function auditFile(
  what: string,
  file: string,
  text: string | null,
  effects: readonly Effect[],
  log: readonly LogLine[],
  whole: boolean,
  findings: Findings,
): void {
  const there = (text ?? '').split('\n').slice(0, -1);
  let at = 0;
  for (const effect of effects) {
    const matches = (line: string | undefined) =>
      effect.kind === 'line' ? line === effect.text : line?.startsWith(`${effect.token} `);
    if (!matches(there[at])) {
      if (whole || at < there.length)
        findings.lost.push(`${what}: ${file} has "${there[at] ?? ''}" where ${JSON.stringify(effect)} is expected`);
      return;
    }
    at += 1;
    for (; at < there.length && matches(there[at]); at += 1) {
      if (effect.kind === 'line') findings.doubled.push(`${what}: ${file} has "${effect.text}" again`);
      else if (!diedIn(effect.command, stepOf(there[at - 1]!), log))
        findings.doubled.push(`${what}: "${effect.command}" ran again although nothing died in it`);
    }
  }
  if (at < there.length) findings.doubled.push(`${what}: ${file} goes on with "${there[at]}"`);
  if (text !== null && text !== '' && !text.endsWith('\n'))
    findings.lost.push(`${what}: ${file} ends in the middle of a line`);
}

const stepOf = (line: string): number => Number(/"step":(\d+)/.exec(line)?.[1]);

/**
 * True when the container of the run died and this command was the last thing seen of it: nobody can know whether it
 * had ended.
 */
function diedIn(command: string, step: number, log: readonly LogLine[]): boolean {
  const own = log.filter((line) => line.step === step);
  const ended = own.some((line) => line.type === 'ended' && line.outcome !== 'cancelled');
  const last = own.findLast((line) => line.type === 'tool');
  return !ended && last?.type === 'tool' && last.title.startsWith(command.slice(0, 40));
}

function auditShared(workspace: string, text: string | null, wanted: readonly string[], findings: Findings): void {
  const there = (text ?? '').split('\n').slice(0, -1);
  for (const line of new Set([...wanted, ...there])) {
    const [is, due] = [there, wanted].map((lines) => lines.filter((each) => each === line).length) as [number, number];
    if (is < due) findings.lost.push(`${workspace}: ${SHARED} has no "${line}"`);
    if (is > due) findings.doubled.push(`${workspace}: ${SHARED} has "${line}" ${is} times instead of ${due}`);
  }
}

function auditOwnWork(name: string, { git, path }: Workspace, left: Set<string>, findings: Findings): void {
  const status = git('status', '--porcelain', '--untracked-files=all').split('\n').filter(Boolean);
  for (const line of status) if (!left.has(line)) findings.doubled.push(`${name}: git status has "${line}"`);
  for (const line of left) if (!status.includes(line)) findings.lost.push(`${name}: git status has no "${line}"`);
  if (readFileSync(join(path, 'README.md'), 'utf8') !== `${name}\n${UNCOMMITTED['README.md']}`)
    findings.lost.push(`${name}: README.md is not as the person left it`);
  if (readFileSync(join(path, 'notes.txt'), 'utf8') !== UNCOMMITTED['notes.txt'])
    findings.lost.push(`${name}: notes.txt is not as the person left it`);
  if (git('rev-parse', '--abbrev-ref', 'HEAD').trim() !== 'main') findings.lost.push(`${name}: HEAD is not on main`);
  const locks = readdirSync(join(path, '.git'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.lock') || /(^|\/)staging-/.test(file),
  );
  for (const lock of locks) findings.stuck.push(`${name}: .git/${lock} is left`);
  try {
    git('fsck', '--no-dangling', '--no-progress');
  } catch (error) {
    findings.lost.push(`${name}: git fsck: ${String((error as { stderr?: string }).stderr).slice(0, 300)}`);
  }
}
