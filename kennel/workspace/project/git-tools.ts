import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Author, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { generatedAmong, generatedNote } from '../checkpoint/generated.ts';
import { named } from '../checkpoint/report.ts';
import { shown } from '../files/names.ts';
import { existing, linkInside } from '../files/paths.ts';
import { converter } from '../git/convert.ts';
import { argument, GitFailed, git, type Repository, tryGit } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { headOf, inProgress, needRepository, type Place } from '../git/repository.ts';
import { copyIndex, readIndex } from '../git/snapshot.ts';
import { indexLock } from '../git/staging.ts';
import { bounded } from '../limits.ts';
import { Refusal } from '../refusal.ts';

/** Git tools for a person or a model. They change HEAD, branches and the index of the person's own repository. */

export interface Status {
  branch: string | null;
  head: string | null;
  upstream: string | null;
  ahead: number;
  behind: number;
  staged: string[];
  modified: string[];
  untracked: string[];
  conflicting: string[];
}

export function statusOf(repository: Repository): Status {
  const status: Status = {
    branch: null,
    head: null,
    upstream: null,
    ahead: 0,
    behind: 0,
    staged: [],
    modified: [],
    untracked: [],
    conflicting: [],
  };
  const fields = git(repository, [
    'status',
    '--porcelain=v2',
    '--branch',
    '-z',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
    '--no-renames',
  ]).split('\0');
  for (const field of fields) {
    const text = utf8(field);
    const words = text.split(' ');
    if (text.startsWith('# branch.head ')) status.branch = words[2] === '(detached)' ? null : words.slice(2).join(' ');
    else if (text.startsWith('# branch.oid ')) status.head = words[2] === '(initial)' ? null : words[2]!;
    else if (text.startsWith('# branch.upstream ')) status.upstream = words.slice(2).join(' ');
    else if (text.startsWith('# branch.ab '))
      [status.ahead, status.behind] = [Math.abs(Number(words[2])), Math.abs(Number(words[3]))];
    else if (words[0] === '?') status.untracked.push(words.slice(1).join(' '));
    else if (words[0] === 'u') status.conflicting.push(words.slice(10).join(' '));
    else if (words[0] === '1') {
      const path = words.slice(8).join(' ');
      if (words[1]![0] !== '.') status.staged.push(path);
      if (words[1]![1] !== '.') status.modified.push(path);
    }
  }
  return status;
}

export function gitStatus(place: Place): WorkspaceAnswer {
  const repository = needRepository(place);
  const status = statusOf(repository);
  const part = (title: string, paths: string[]) =>
    paths.length > 0
      ? [
          `${title}:`,
          ...paths.slice(0, 100).map((path) => `  ${shown(path)}`),
          ...(paths.length > 100 ? [`  … and ${paths.length - 100} more`] : []),
        ]
      : [];
  const track = status.upstream ? `, ${status.ahead} ahead and ${status.behind} behind ${status.upstream}` : '';
  const doing = inProgress(repository);
  const lines = [
    `On ${status.branch ?? `a detached HEAD at ${status.head?.slice(0, 10)}`}${status.head ? '' : ', no commits yet'}${track}`,
    ...(doing ? [`In the middle of ${doing}`] : []),
    ...part('Conflicts', status.conflicting),
    ...part('Staged', status.staged),
    ...part('Changed, not staged', status.modified),
    ...part('Untracked', status.untracked),
  ];
  if (lines.length === 1) lines.push('Nothing is changed.');
  const { staged, modified, untracked, conflicting, ...rest } = status;
  const counts = {
    staged: staged.length,
    modified: modified.length,
    untracked: untracked.length,
    conflicting: conflicting.length,
  };
  return { ok: true, output: bounded(lines.join('\n')), data: { ...rest, ...counts } };
}

export function gitDiff(
  place: Place,
  path: string | undefined,
  staged: boolean,
  against: string | undefined,
): WorkspaceAnswer {
  const repository = needRepository(place);
  const args = [
    'diff',
    '--no-ext-diff',
    '--no-textconv',
    '--ignore-submodules=dirty',
    '--no-color',
    '--submodule=short',
  ];
  if (staged) args.push('--cached');
  if (against !== undefined) args.push(commitNamed(repository, against));
  const within = path === undefined || path === '.' ? [] : ['--', insidePath(place, path)];
  const added = staged ? { index: undefined, left: [] } : withNewFiles(repository, within);
  const text = utf8(git(repository, [...args, ...within], { maxOutput: MOST_DIFF_BYTES, index: added.index }));
  const left = added.left.length > 0 ? `New, and not shown: ${named(added.left)}.` : '';
  if (text === '' && left === '')
    return { ok: true, output: 'There is no difference.', ours: true, data: { length: 0 } };
  return { ok: true, output: [bounded(text), left].filter(Boolean).join('\n'), data: { length: text.length } };
}

const MOST_DIFF_BYTES = 4 * 1024 * 1024;
const MOST_NEW_FILES = 200;
const MOST_NEW_BYTES = 1024 * 1024;

/**
 * A copy of the index that knows the new files by name, so that `git diff` shows them as added. Folders with
 * repositories of their own, and files that are too many or too large, are only named.
 */
function withNewFiles(repository: Repository, within: string[]): { index: string | undefined; left: string[] } {
  const found = git(repository, ['ls-files', '-o', '-z', '--exclude-standard', ...within]).split('\0');
  const untracked = found.filter((name) => name !== '');
  let bytes = 0;
  const shownNames = untracked
    .filter((name) => !name.endsWith('/') && argument(name) !== null)
    .filter((name, at) => {
      bytes += lstatSync(join(repository.root, utf8(name)), { throwIfNoEntry: false })?.size ?? 0;
      return at < MOST_NEW_FILES && bytes <= MOST_NEW_BYTES;
    });
  const shownOnes = new Set(shownNames);
  const left = untracked.filter((name) => !shownOnes.has(name));
  if (shownNames.length === 0) return { index: undefined, left };
  const index = join(repository.scratch, 'index-with-new-files');
  const own = join(repository.gitDir, 'index');
  if (existsSync(own)) copyIndex(own, index);
  // git stores an empty object for them, which the person's repository does not need
  const env = {
    GIT_OBJECT_DIRECTORY: join(repository.scratch, 'objects'),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repository.commonDir, 'objects'),
  };
  git(repository, ['add', '--intent-to-add', '--pathspec-from-file=-', '--pathspec-file-nul'], {
    index,
    env,
    input: shownNames.join('\0'),
  });
  return { index, left };
}

export function gitLog(place: Place, limit: number): WorkspaceAnswer {
  const repository = needRepository(place);
  const head = headOf(repository);
  if (!head.commit) return { ok: true, output: 'There are no commits yet.', data: { commits: [] } };
  const most = String(Math.min(Math.max(1, Math.floor(limit)), 500));
  const fields = utf8(
    git(repository, [
      'log',
      '-z',
      '--no-color',
      '--no-show-signature',
      '-n',
      most,
      '--format=%H%x1f%an%x1f%aI%x1f%s',
      'HEAD',
    ]),
  ).split('\0');
  const commits = fields
    .filter((field) => field !== '')
    .map((field) => {
      const [commit, author, at, subject] = field.split('\x1f') as [string, string, string, string];
      return { commit, author: shown(author), at, subject: shown(subject) };
    });
  const lines = commits.map(
    (commit) => `${commit.commit.slice(0, 10)} ${commit.at} ${commit.author}: ${commit.subject}`,
  );
  return { ok: true, output: bounded(lines.join('\n')), data: { commits } };
}

/**
 * With paths: commits only those, whatever is staged. Without: what is staged, or everything that is not ignored when
 * nothing is staged.
 */
export function gitCommit(place: Place, message: string, paths: string[] | undefined, author: Author): WorkspaceAnswer {
  const repository = needRepository(place);
  if (message.trim() === '') throw new Refusal('The commit message is empty.');
  const doing = inProgress(repository);
  if (doing) throw new Refusal(`${doing} is in progress; finish or abort it first.`);
  const lock = indexLock(repository);
  if (lock) throw new Refusal(`Nothing was committed: ${lock}.`);
  const chosen = paths?.map((path) => committedPath(repository, place, path));
  const status = statusOf(repository);
  // everything: then what tools have generated is left out
  const whole = chosen ? chosen.length === 1 && chosen[0] === '.' : status.staged.length === 0;
  const all = whole ? ['.'] : (chosen ?? []);
  let generated: ReadonlyMap<string, string> = new Map();
  if (all.length > 0) {
    const due = git(repository, ['ls-files', '-z', '-m', '-o', '-d', '--exclude-standard', '--', ...all]).split('\0');
    const { filtered } = converter(
      repository,
      due.filter((path) => path !== ''),
    );
    if (filtered.size > 0)
      throw new Refusal(
        `A filter of the repository would have to run over ${named([...filtered])}, which is not done here. Commit them yourself, or name other paths.`,
      );
    const before = new Set(readIndex(repository).entries.keys());
    git(repository, ['add', '-A', '--', ...all]);
    if (whole) generated = unstageGenerated(repository, before);
  }
  const args = [
    'commit',
    '-q',
    '--no-verify',
    '--no-gpg-sign',
    '--no-status',
    '-F',
    '-',
    ...(chosen && !whole ? ['--only', '--', ...chosen] : []),
  ];
  const by = {
    name: author.name.replace(/[<>\r\n\0]/g, '').trim() || 'Fetch',
    email: author.email.replace(/[<>\s\0]/g, '') || 'fetch@localhost',
  };
  const env = {
    GIT_AUTHOR_NAME: by.name,
    GIT_AUTHOR_EMAIL: by.email,
    GIT_COMMITTER_NAME: by.name,
    GIT_COMMITTER_EMAIL: by.email,
  };
  const ran = tryGit(repository, args, { input: Buffer.from(message, 'utf8'), env });
  const made = generatedNote(generated);
  if (ran.code === 1 && statusOf(repository).staged.length === 0)
    throw new Refusal(['There is nothing to commit.', made].filter(Boolean).join(' '));
  if (ran.code !== 0) throw new GitFailed(`git commit: ${ran.stderr.trim() || ran.stdout.trim()}`);
  const head = headOf(repository);
  const stat = utf8(
    git(repository, [
      'show',
      '--no-ext-diff',
      '--no-textconv',
      '--no-show-signature',
      '--format=',
      '--shortstat',
      'HEAD',
    ]),
  ).trim();
  return {
    ok: true,
    output: `Committed ${head.commit!.slice(0, 10)} on ${head.branch ?? 'a detached HEAD'}: ${stat}.${made ? ` ${made}` : ''}`,
    data: { commit: head.commit, branch: head.branch },
  };
}

/** Takes out of the index what tools have generated, unless it was there already. Returns it. */
function unstageGenerated(repository: Repository, before: ReadonlySet<string>): ReadonlyMap<string, string> {
  const fresh = [...readIndex(repository).entries.keys()].filter((path) => !before.has(path));
  const generated = generatedAmong(repository.root, fresh, before);
  if (generated.size > 0)
    git(repository, ['update-index', '--force-remove', '-z', '--stdin'], {
      input: [...generated.keys()].map((path) => `${path}\0`).join(''),
    });
  return generated;
}

export function gitBranch(
  place: Place,
  action: 'list' | 'create' | 'switch',
  name: string | undefined,
): WorkspaceAnswer {
  const repository = needRepository(place);
  if (action === 'list') {
    const lines = utf8(
      git(repository, [
        'for-each-ref',
        '--count=200',
        '--sort=-committerdate',
        '--format=%(HEAD) %(refname:short) %(objectname:short) %(contents:subject)',
        'refs/heads',
      ]),
    );
    const branches = lines.split('\n').filter((line) => line !== '');
    return {
      ok: true,
      output:
        branches.length === 0
          ? 'There are no branches with commits yet.'
          : bounded(branches.map((line) => shown(line)).join('\n')),
      data: { current: headOf(repository).branch },
    };
  }
  if (!name) throw new Refusal('The name of the branch is missing.');
  if (name.startsWith('-') || tryGit(repository, ['check-ref-format', `refs/heads/${name}`]).code !== 0)
    throw new Refusal(`${shown(name)} is not a valid branch name.`);
  const exists = tryGit(repository, ['rev-parse', '-q', '--verify', `refs/heads/${name}`]).code === 0;
  if (action === 'create' && exists) throw new Refusal(`Branch ${name} is there already; switch to it.`);
  if (action === 'switch' && !exists) throw new Refusal(`There is no branch ${name}. Create it first.`);
  const lock = indexLock(repository);
  if (lock) throw new Refusal(`Nothing was changed: ${lock}.`);
  // ignored files belong to the person too, and git would overwrite them with files of the branch
  const ran = tryGit(repository, [
    'switch',
    '-q',
    '--no-guess',
    '--no-progress',
    '--no-recurse-submodules',
    '--no-overwrite-ignore',
    ...(action === 'create' ? ['-c'] : []),
    name,
  ]);
  if (ran.code !== 0) throw new Refusal(`git did not switch: ${ran.stderr.trim().replace(/^error: /, '')}`);
  return {
    ok: true,
    output: `${action === 'create' ? 'Made branch' : 'Switched to'} ${name}.`,
    data: { branch: name },
  };
}

function commitNamed(repository: Repository, name: string): string {
  const found = name.startsWith('-')
    ? null
    : tryGit(repository, ['rev-parse', '-q', '--verify', '--end-of-options', `${name}^{commit}`]);
  if (found?.code !== 0) throw new Refusal(`${shown(name)} names no commit or branch.`);
  return found.stdout.trim();
}

function insidePath(place: Place, path: string): string {
  try {
    return linkInside(place.root, path).path;
  } catch (error) {
    // a deleted file has a difference too
    if (!(error instanceof Refusal) || !error.message.includes('is not there')) throw error;
    return path;
  }
}

function committedPath(repository: Repository, place: Place, path: string): string {
  if (path === '.') return existing(place.root, path).path;
  const inside = insidePath(place, path);
  if (tryGit(repository, ['ls-files', '--error-unmatch', '--', inside]).code === 0) return inside;
  return linkInside(place.root, path).path;
}
