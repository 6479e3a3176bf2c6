import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '../refusal.ts';
import { type Ran, type RunOptions, run, utf8 } from './process.ts';

/**
 * Every call of git goes through `git` or `content`.
 *
 * A repository's own configuration can name programs (hooks, filters, diff and merge drivers, signers, transports,
 * monitors). So everything that touches contents of files runs as `content`: in our own git directory, which only
 * borrows the repository's objects and reads nothing of its configuration. `git` runs in the repository's directory,
 * which has the refs and the index. There every key that could run something is overridden.
 *
 * When there is a store, `content` uses only the store's objects, so nothing that an agent does to the repository's
 * objects changes them. `kept` works with the store's refs. Objects move between the two as packs, whose contents git
 * checks.
 */
export interface Repository {
  /** top of the working tree */
  root: string;
  /** has HEAD and index */
  gitDir: string;
  /** has objects, refs and configuration */
  commonDir: string;
  /** `beside`: the working tree is no repository, and `gitDir` is ours, elsewhere */
  kept: 'workspace' | 'beside';
  /** key of the worktree; null for the workspace's own files */
  worktree: string | null;
  /** our own git directory for this process */
  scratch: string;
  /** our own git directory outside the workspace, with the checkpoints; null for tools that need none */
  store: string | null;
  /** the history could not be copied into the store, so its objects are read where they are */
  borrows?: boolean;
  /** why the workspace's git folder is unusable */
  damage?: string;
  /** overrides of the repository's configuration, made on first use */
  overrides?: Record<string, string>;
  /** cached answers that never change: see `once` */
  asked?: Map<string, unknown>;
}

export interface GitOptions extends Omit<RunOptions, 'env'> {
  /** further exit codes that are answers; 0 always is */
  codes?: number[];
  env?: Record<string, string>;
  /** index file to use */
  index?: string;
}

/** git ended with a code that is not an answer. */
export class GitFailed extends Error {
  override readonly name = 'GitFailed';
}

const RUNS_SOMETHING =
  /^(filter\..*\.(clean|smudge|process|required)|diff\..*\.(textconv|command|cachetextconv)|merge\..*\.driver|alias\..*|pager\..*|gpg\..*|credential\..*|remote\..*\.(uploadpack|receivepack|vcs|promisor|partialclonefilter|proxy)|submodule\..*\.update|trailer\..*|difftool\..*|mergetool\..*|tar\..*|url\..*|includeif\..*)$/i;

/** Set on every call. An empty value turns a program off. */
const ALWAYS: Record<string, string> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.pager': 'cat',
  'core.editor': 'true',
  'core.sshCommand': 'false',
  'core.askPass': 'true',
  'core.gitProxy': 'none',
  'core.alternateRefsCommand': 'true',
  'core.quotePath': 'false',
  'diff.external': '',
  'interactive.diffFilter': '',
  'sequence.editor': 'true',
  'log.showSignature': 'false',
  'commit.gpgSign': 'false',
  'tag.gpgSign': 'false',
  'push.gpgSign': 'false',
  'merge.verifySignatures': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'protocol.allow': 'never',
  'submodule.recurse': 'false',
  // the index is read as it is stored, also where a file has come that a sparse checkout leaves out
  'sparse.expectFilesOutsideOfPatterns': 'true',
  'status.submoduleSummary': 'false',
  'diff.ignoreSubmodules': 'dirty',
  'fetch.recurseSubmodules': 'false',
  'uploadpack.packObjectsHook': '',
  'safe.directory': '*',
  'advice.detachedHead': 'false',
  'color.ui': 'false',
};

const base = (repository: Repository): Record<string, string> => ({
  PATH: environment.PATH ?? '/usr/local/bin:/usr/bin:/bin',
  HOME: repository.scratch,
  XDG_CONFIG_HOME: join(repository.scratch, 'none'),
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'true',
  GIT_ASKPASS: 'true',
  SSH_ASKPASS: 'true',
  // for reflogs; commits have their own authors
  GIT_AUTHOR_NAME: 'Fetch',
  GIT_AUTHOR_EMAIL: 'fetch@localhost',
  GIT_COMMITTER_NAME: 'Fetch',
  GIT_COMMITTER_EMAIL: 'fetch@localhost',
});

/** The parts of the environment that this program needs. Set once, by main. */
export const environment: { PATH?: string } = {};

/** git in the repository itself: refs, index, status, listing. `stdout` holds bytes as characters. */
export function git(repository: Repository, args: string[], options: GitOptions = {}): string {
  repository.overrides ??= overridesOf(repository);
  return checked(args, runGit(repository, args, repository.overrides, options), options);
}

/** Like `git`, with the exit code. */
export function tryGit(repository: Repository, args: string[], options: GitOptions = {}): Ran {
  repository.overrides ??= overridesOf(repository);
  return runGit(repository, args, repository.overrides, options);
}

/** git on the repository's objects, without its configuration, line-ending attributes and filters. */
export function content(repository: Repository, args: string[], options: GitOptions = {}): string {
  return checked(args, tryContent(repository, args, options), options);
}

export function tryContent(repository: Repository, args: string[], options: GitOptions = {}): Ran {
  const env = {
    ...base(repository),
    GIT_DIR: repository.scratch,
    GIT_WORK_TREE: repository.root,
    GIT_OBJECT_DIRECTORY: join(repository.store ?? repository.commonDir, 'objects'),
    ...(repository.borrows ? { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repository.commonDir, 'objects') } : {}),
    GIT_INDEX_FILE: options.index ?? join(repository.scratch, 'index'),
    ...options.env,
  };
  return run('git', args, { ...options, cwd: options.cwd ?? repository.root, env });
}

/** git in the store, for the refs of checkpoints. Its configuration is ours. */
export function kept(repository: Repository, args: string[], options: GitOptions = {}): string {
  return checked(args, tryKept(repository, args, options), options);
}

export function tryKept(repository: Repository, args: string[], options: GitOptions = {}): Ran {
  if (repository.store === null) throw new Error('there is no store');
  return run('git', args, {
    ...options,
    cwd: repository.store,
    env: { ...base(repository), GIT_DIR: repository.store, ...options.env },
  });
}

function runGit(repository: Repository, args: string[], overrides: Record<string, string>, options: GitOptions): Ran {
  const env: Record<string, string> = {
    ...base(repository),
    GIT_DIR: repository.gitDir,
    GIT_WORK_TREE: repository.root,
    ...(options.index ? { GIT_INDEX_FILE: options.index } : {}),
    ...options.env,
  };
  const keys = Object.entries(overrides);
  env.GIT_CONFIG_COUNT = String(keys.length);
  for (const [index, [key, value]] of keys.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  const ran = run('git', args, { ...options, cwd: options.cwd ?? repository.root, env });
  const [, extension] = TOO_NEW.exec(ran.code === 0 ? '' : ran.stderr) ?? [];
  if (extension !== undefined) throw new NewerGit(extension);
  return ran;
}

/** What git says of a repository that a later git has made, and the name of what it does not know. */
const TOO_NEW = /^fatal: (?:unknown repository extensions? found:\s+|Expected git repo version .*found )(\S+)/m;

/** The repository is in a format that a later git has made. */
export class NewerGit extends Refusal {
  constructor(extension: string) {
    const how = /^refstorage$/i.test(extension)
      ? 'On your machine, "git refs migrate --ref-format=files" puts its branches into files; then try again.'
      : 'Only a newer git can read it.';
    super(`The git of this machine cannot read this repository ("${extension}" is new to it). ${how}`);
  }
}

function checked(args: string[], ran: Ran, options: GitOptions): string {
  if (ran.code === 0 || (ran.code !== null && options.codes?.includes(ran.code))) return ran.stdout;
  if (ran.cut && options.maxOutput) return ran.stdout;
  const why = ran.timedOut ? 'took too long' : ran.stderr.trim() || ran.stdout.trim() || `ended with code ${ran.code}`;
  throw new GitFailed(`git ${args.find((arg) => !arg.startsWith('-')) ?? ''}: ${why}`);
}

/**
 * Gives an empty value to each key of the repository's configuration that names a program. `git config` itself runs
 * nothing.
 */
function overridesOf(repository: Repository): Record<string, string> {
  const listed = runGit(repository, ['config', '--list', '--name-only', '-z'], ALWAYS, {});
  if (listed.code !== 0) throw new GitFailed(`git cannot read the repository: ${listed.stderr.trim()}`);
  const found: Record<string, string> = {};
  for (const key of listed.stdout.split('\0')) {
    if (RUNS_SOMETHING.test(key)) found[utf8(key)] = /\.(required|promisor|cachetextconv)$/i.test(key) ? 'false' : '';
  }
  // a repository from another machine may say that case does not count, where it does: files would be overlooked
  const isExact = !existsSync(join(repository.commonDir, 'head'));
  return { ...found, ...(isExact && { 'core.ignoreCase': 'false' }), ...ALWAYS };
}

let scratches: string[] = [];

/**
 * A git directory for this process, with its objects in the store or in the repository's own folder. `removeScratch`
 * removes it.
 */
export function makeScratch(commonDir: string, store: string | null = null): string {
  const scratch = mkdtempSync(join(tmpdir(), 'fetch-git-'));
  scratches.push(scratch);
  for (const folder of ['objects', 'refs/heads', 'info', 'tmp']) mkdirSync(join(scratch, folder), { recursive: true });
  const hash = objectFormat(store ?? commonDir);
  writeFileSync(join(scratch, 'HEAD'), 'ref: refs/heads/none\n');
  writeFileSync(
    join(scratch, 'config'),
    [
      `[core]\n\trepositoryformatversion = ${hash === 'sha1' ? 0 : 1}\n\tbare = false\n\tfilemode = true\n\tsymlinks = true\n\tignorecase = false\n\tautocrlf = false`,
      // all names that the file system allows are accepted, and large files are copied uncompressed
      '\tprotectNTFS = false\n\tprotectHFS = false\n\tbigFileThreshold = 32m\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tquotePath = false\n\tuntrackedCache = false\n\tsplitIndex = false',
      '[pack]\n\tcompression = 0\n[gc]\n\tauto = 0\n[index]\n\tsparse = false\n[merge]\n\tconflictStyle = merge',
      hash === 'sha1' ? '' : `[extensions]\n\tobjectFormat = ${hash}`,
    ].join('\n') + '\n',
  );
  writeFileSync(
    join(scratch, 'info/attributes'),
    '* -text !eol !crlf !ident !filter !working-tree-encoding !diff !merge\n',
  );
  // git looks for the parts of a split index in its git directory
  for (const name of existsSync(commonDir) ? readdirSync(commonDir) : []) {
    if (name.startsWith('sharedindex.')) symlinkSync(join(commonDir, name), join(scratch, name));
  }
  return scratch;
}

export function removeScratch(): void {
  for (const scratch of scratches) rmSync(scratch, { recursive: true, force: true });
  scratches = [];
}

export function objectFormat(commonDir: string): 'sha1' | 'sha256' {
  try {
    const config = readFileSync(join(commonDir, 'config'), 'utf8').slice(0, 1024 * 1024);
    return /^[ \t]*objectformat[ \t]*=[ \t]*sha256[ \t\r]*$/im.test(config) ? 'sha256' : 'sha1';
  } catch {
    return 'sha1';
  }
}

/** The argument for a path that is held as bytes; null when the path is not UTF-8. */
export function argument(path: string): string | null {
  const text = utf8(path);
  return text.includes('\ufffd') ? null : text;
}
