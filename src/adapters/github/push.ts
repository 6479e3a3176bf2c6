import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inline } from '../../domain/text/foreign-text.ts';
import { COMMIT_MARK, SecretScan, secretsSentence } from '../../domain/text/secrets.ts';
import { english } from '../../domain/texts/say.ts';
import { ARCHIVED } from './errors.ts';
import { credentials, type Ended, git, withoutToken } from './host-git.ts';

/**
 * Pushes from this process, because the token must not enter a container. Only the commits of the workspace are used:
 * they come as a bundle and go through a fresh bare repository. So the git that has the token reads no hook, filter,
 * helper or setting of the workspace.
 */
interface Push {
  /** file made by `git bundle create` */
  bundle: string;
  /** http(s) address of the repository, without credentials */
  url: string;
  /** the current branch; pushed first, because the first branch of an empty repository becomes its default */
  branch: string;
  /** also push every branch and tag of the bundle */
  everything: boolean;
  /** nothing is pushed when the branch has no commit that this branch on GitHub does not have */
  base?: string;
  /** nothing is pushed when the branch is not at this commit: a person has agreed to it */
  commit?: string;
  /** its name in the bundle, where that is another one */
  from?: string;
  /** the branch may be rewritten on the server as long as it is at this commit there */
  lease?: string;
  token: string;
  signal: AbortSignal;
}

/** `ahead`: what the branch has on GitHub and not in the workspace. */
type Pushed = { ok: true; head: string; news: boolean } | { ok: false; why: string; ahead?: Ahead };

export interface Ahead {
  /** the newest commit there */
  head: string;
  /** the commits that are missing here */
  bundle: Buffer;
}

/** The commits of others go into a container through its standard input. */
const MAX_AHEAD = 64 * 1024 ** 2;

/** A fresh repository with the commits of a bundle. */
interface Transit {
  push: Push;
  /** the newest commit of the branch */
  head: string;
  local: (args: string[], onOut?: (text: string) => void) => Promise<Ended>;
  remote: (args: string[]) => Promise<Ended>;
  folder: string;
}

export async function pushBundle(push: Push): Promise<Pushed> {
  const folder = await mkdtemp(join(tmpdir(), 'fetch-push-'));
  try {
    const transit = await unpack(push, folder);
    if ('why' in transit) return { ok: false, ...transit };
    const there = await branchesThere(transit);
    if ('why' in there) return { ok: false, ...there };
    return (await findSecrets(transit, there)) ?? (await compare(transit, there)) ?? (await send(transit));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Commits of a branch on the server that the bundle of a workspace does not have; null when it has all of them. */
type Brought = { ok: true; head: string; bundle: Buffer | null } | { ok: false; why: string };

/** Brings the newest commits of a branch from the server. `push.branch` is what the workspace has. */
export async function bringBranch(push: Push, name: string): Promise<Brought> {
  const folder = await mkdtemp(join(tmpdir(), 'fetch-bring-'));
  try {
    const transit = await unpack(push, folder);
    if ('why' in transit) return { ok: false, ...transit };
    const there = await branchesThere({ ...transit, push: { ...push, base: name } });
    if ('why' in there) return { ok: false, ...there };
    const head = there.get(name);
    if (head === undefined) return { ok: false, why: english('github.noBranch', { name }) };
    const { head: ours, local } = transit;
    if ((await local(['rev-list', '--count', head, '--not', ours])).out.trim() === '0')
      return { ok: true, head, bundle: null };
    const file = join(folder, 'brought');
    const bundled = await local(['bundle', 'create', '--quiet', file, `refs/there/${name}`, '--not', ours]);
    if (bundled.code !== 0 || (await stat(file)).size > MAX_AHEAD)
      return { ok: false, why: english('github.tooMany', { name }) };
    return { ok: true, head, bundle: await readFile(file) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function unpack(push: Push, folder: string): Promise<Transit | { why: string }> {
  const { bundle, url, branch, everything, token, signal } = push;
  const repository = join(folder, 'repository');
  const at = ['--git-dir', repository];
  const local: Transit['local'] = (args, onOut) =>
    git(folder, [...at, ...args], { GIT_ALLOW_PROTOCOL: 'file' }, signal, onOut);
  const made = await git(
    folder,
    ['init', '--quiet', '--bare', '--template=', repository],
    { GIT_ALLOW_PROTOCOL: 'file' },
    signal,
  );
  if (made.code !== 0) return { why: made.said };
  const refs = everything
    ? ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']
    : [`+refs/heads/${push.from ?? branch}:refs/heads/${branch}`];
  const taken = await local([
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-recurse-submodules',
    '--no-auto-gc',
    '--update-head-ok',
    bundle,
    ...refs,
  ]);
  if (taken.code !== 0) return { why: english('github.unread', { why: taken.said }) };
  const head = (await local(['rev-parse', '--verify', `refs/heads/${branch}`])).out.trim();
  if (push.commit !== undefined && push.commit !== head) return { why: english('github.moved', { branch }) };
  return {
    push,
    head,
    local,
    folder,
    remote: (args) => git(folder, [...at, ...args], credentials(url, token), signal),
  };
}

/**
 * Branches on GitHub, by name. The newest commits of the branch, the base and the default branch are fetched; others
 * are known only where we have them.
 */
type Branches = ReadonlyMap<string, string>;

async function branchesThere({
  push: { url, branch, base, token },
  remote,
}: Transit): Promise<Branches | { why: string }> {
  const listed = await remote(['ls-remote', '--symref', url, 'HEAD', 'refs/heads/*']);
  if (listed.code !== 0) return { why: refusal(listed, token) };
  const heads = new Map(
    [...listed.out.matchAll(/^([0-9a-f]{40,64})\trefs\/heads\/(.+)$/gm)].map(([, commit, name]) => [name!, commit!]),
  );
  const standard = /^ref: refs\/heads\/(.+)\tHEAD$/m.exec(listed.out)?.[1];
  const wanted = [...new Set([branch, base, standard])].filter((name) => name !== undefined && heads.has(name));
  if (wanted.length === 0) return heads;
  const refs = wanted.map((name) => `+refs/heads/${name}:refs/there/${name}`);
  const fetched = await remote([
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-recurse-submodules',
    '--no-auto-gc',
    url,
    ...refs,
  ]);
  return fetched.code === 0 ? heads : { why: refusal(fetched, token) };
}

/** So many branches on GitHub are taken as known; the list is part of a command line. */
const MOST_KNOWN = 1_000;

/** What is to be pushed and is on GitHub in no branch that is known here. */
const unpushed = ({ branch, everything }: Push, there: Branches): string[] => [
  ...(everything ? ['--branches', '--tags'] : [`refs/heads/${branch}`]),
  // a commit that is not here cannot be left out
  ...['--ignore-missing', '--not', '--glob=refs/there/*', ...[...there.values()].slice(0, MOST_KNOWN)],
];

/** Looks at every line that the commits add. A file that says of itself that it has no text is read as text, too. */
async function findSecrets({ push, local }: Transit, there: Branches): Promise<Pushed | null> {
  const scan = new SecretScan([push.token]);
  const show = [
    'log',
    `--format=${COMMIT_MARK}%H`,
    '-p',
    '-c',
    '-U0',
    '--text',
    '--no-renames',
    '--no-color',
    '--no-ext-diff',
    '--no-textconv',
  ];
  const read = await local([...show, ...unpushed(push, there)], (text) => scan.push(text));
  if (read.code !== 0) return { ok: false, why: english('github.unsearched', { why: read.said }) };
  const findings = scan.end();
  return findings.length > 0 ? { ok: false, why: secretsSentence(findings, inline) } : null;
}

/** Why there is nothing to push, or what has to come in first. */
async function compare(
  { push: { branch, base, lease }, head, local, folder }: Transit,
  there: Branches,
): Promise<Pushed | null> {
  const count = async (...range: string[]) => Number((await local(['rev-list', '--count', ...range])).out.trim());
  if (base !== undefined && there.has(base) && (await count(head, '--not', `refs/there/${base}`)) === 0)
    return { ok: false, why: english('github.nothing', { branch, base }) };
  const theirs = there.get(branch);
  if (theirs === undefined && lease !== undefined) return { ok: false, why: english('github.branchGone', { branch }) };
  if (theirs !== undefined && theirs === lease) return null;
  if (theirs === undefined || (await count(theirs, '--not', head)) === 0) return null;
  const file = join(folder, 'ahead');
  const bundled = await local(['bundle', 'create', '--quiet', file, `refs/there/${branch}`, '--not', head]);
  if (bundled.code !== 0 || (await stat(file)).size > MAX_AHEAD) return { ok: false, why: english('github.ahead') };
  return {
    ok: false,
    why: english('github.aheadSync'),
    ahead: { head: theirs, bundle: await readFile(file) },
  };
}

async function send({ push: { url, branch, everything, token, lease }, head, remote }: Transit): Promise<Pushed> {
  const rewrites = lease === undefined ? [] : [`--force-with-lease=refs/heads/${branch}:${lease}`];
  const target = `refs/heads/${branch}:refs/heads/${branch}`;
  const first = await remote(['push', '--porcelain', '--no-verify', ...rewrites, url, target]);
  if (first.code !== 0) return { ok: false, why: refusal(first, token) };
  if (everything) {
    const rest = await remote([
      'push',
      '--porcelain',
      '--no-verify',
      url,
      'refs/heads/*:refs/heads/*',
      'refs/tags/*:refs/tags/*',
    ]);
    if (rest.code !== 0) return { ok: false, why: refusal(rest, token) };
  }
  return { ok: true, head, news: !/^=\t/m.test(first.out) };
}

/** Why git was refused, as a sentence for known cases. */
function refusal({ out, said }: Ended, token: string): string {
  const text = withoutToken(`${said}\n${out}`, token);
  if (/\[rejected\][^\n[]*(fetch first|non-fast-forward)/.test(text)) return english('github.aheadNow');
  if (/workflow. scope/.test(text)) return english('github.workflows');
  if (/\barchived\b/i.test(text)) return ARCHIVED;
  if (/Authentication failed|could not read Username|\b40[13]\b/.test(text)) return english('github.noPush');
  const rejected = text.split('\n').find((line) => line.includes('[remote rejected]'));
  const remote = rejected && /\(([^()]{1,300})\)/.exec(rejected)?.[1];
  return remote
    ? english('github.refuses', { why: remote })
    : english('github.failed', { why: text.trim().split('\n').slice(-5).join(' ').slice(0, 500) });
}
