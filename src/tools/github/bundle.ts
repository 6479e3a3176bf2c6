import { writeSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ahead, bringBranch, pushBundle } from '../../adapters/github/push.ts';
import type { Repository } from '../../adapters/github/repositories.ts';
import { english } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import type { ToolContext } from '../tool.ts';
import { printed } from '../workspace/command-text.ts';
import type { Opened } from '../workspace/in-workspace.ts';

/** Largest repository that can be pushed, in bytes. */
const MAX_BYTES = 2 * 1024 ** 3;
const BUNDLE_MS = 10 * MINUTE;

/** git in the container, which runs nothing that the repository's own settings name. */
export const GIT = ['git', '-c', 'safe.directory=*', '-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false'];

/**
 * Begins a script that changes files: turns off the filters that the repository names, whose programs (git-lfs) are not
 * in the container. `$@` is git.
 */
export const WITHOUT_FILTERS = String.raw`
while IFS= read -r -d '' key; do set -- "$@" -c "$key="; done < <("$@" config --null --name-only --get-regexp '^filter\..*\.(clean|smudge|process|required)$' || true)
`.trim();

/** The files of a workspace, and the containers that work on them. */
type Place = Pick<Opened, 'kennel' | 'path'>;
type Asking = Pick<ToolContext, 'config' | 'signal'>;

/**
 * Bundles the commits of a workspace in its container, passes the file to `use` and removes it. The bundle comes as
 * base64 on stdout, so this process reads no file that somebody else can write.
 */
async function withBundle<T>(
  { kennel, path }: Place,
  { branch, everything, signal }: { branch: string; everything: boolean; signal: AbortSignal },
  use: (file: string) => Promise<T>,
): Promise<{ ok: true; value: T } | { ok: false; why: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'fetch-bundle-'));
  try {
    const bundle = join(folder, 'bundle');
    const file = await open(bundle, 'wx', 0o600);
    const tooLarge = new AbortController();
    let [rest, size] = ['', 0];
    const take = (text: string) => {
      const all = rest + text.replace(/\s+/g, '');
      const whole = all.length - (all.length % 4);
      rest = all.slice(whole);
      size += writeSync(file.fd, Buffer.from(all.slice(0, whole), 'base64'));
      if (size > MAX_BYTES) tooLarge.abort();
    };
    try {
      // branches that tasks left stay on this machine
      const refs = everything ? ['--exclude=fetch/*', '--branches', '--tags'] : [`refs/heads/${branch}`];
      const script = 'set -o pipefail; "$@" | base64 -w 65536';
      const result = await kennel.command({
        workspace: path,
        readOnly: true,
        argv: ['bash', '-c', script, 'bundle', ...GIT, 'bundle', 'create', '--quiet', '-', ...refs],
        timeoutMs: BUNDLE_MS,
        maxOutput: 4096,
        label: 'git-bundle',
        onOutput: (stream, text) => {
          if (stream === 'stdout') take(text);
        },
        signal: AbortSignal.any([signal, tooLarge.signal]),
      });
      if (tooLarge.signal.aborted)
        return {
          ok: false,
          why: english('github.tooLarge', { count: MAX_BYTES / 1024 ** 3 }),
        };
      if (result.timedOut) return { ok: false, why: english('github.bundleLate') };
      if (result.code !== 0)
        return { ok: false, why: english('github.unbundled', { why: printed(result.stderr).trim().slice(-500) }) };
    } catch (error) {
      if (tooLarge.signal.aborted)
        return {
          ok: false,
          why: english('github.tooLarge', { count: MAX_BYTES / 1024 ** 3 }),
        };
      throw error;
    } finally {
      await file.close();
    }
    return { ok: true, value: await use(bundle) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Records in the workspace's repository where it was pushed to, as `git push --set-upstream` would. The number of
 * commits ahead depends on it.
 */
async function noteRemote(
  { kennel, path }: Place,
  { url, branch, head }: { url: string; branch: string; head: string },
  signal: AbortSignal,
): Promise<boolean> {
  const script = [
    'url=$1 branch=$2 head=$3; shift 3',
    'remote=$("$@" config "branch.$branch.remote" || true)',
    'case "$remote" in ""|.) remote=origin; "$@" config "branch.$branch.remote" origin; "$@" config "branch.$branch.merge" "refs/heads/$branch";; esac',
    '"$@" remote get-url "$remote" >/dev/null 2>&1 || "$@" remote add "$remote" "$url"',
    '"$@" update-ref "refs/remotes/$remote/$branch" "$head"',
  ].join('\n');
  const result = await kennel.command({
    workspace: path,
    argv: ['bash', '-ec', script, 'remote', url, branch, head, ...GIT],
    timeoutMs: 60_000,
    maxOutput: 4096,
    label: 'git-remote',
    signal,
  });
  return result.code === 0;
}

interface PushOrder {
  branch: string;
  repository: Repository;
  /** every branch and tag */
  everything?: boolean;
  /** nothing is pushed when this branch on GitHub has all commits already */
  base?: string;
  /** nothing is pushed when the branch is at another commit */
  commit?: string;
}

/** A branch of the workspace that has another name on the server. */
interface OwnBranch {
  /** its name in the workspace */
  from: string;
  /** its name on the server */
  branch: string;
  /** where to push to */
  url: string;
  base?: string;
  commit?: string;
  lease?: string;
}

/** Pushes a branch under another name. Nothing is recorded in the workspace. */
export async function pushOwnBranch(
  { config, signal }: Asking,
  at: Place,
  { from, ...order }: OwnBranch,
): Promise<Awaited<ReturnType<typeof pushBundle>>> {
  const bundled = await withBundle(at, { branch: from, everything: false, signal }, (bundle) =>
    pushBundle({ bundle, from, everything: false, token: config.GH_TOKEN!, signal, ...order }),
  );
  return bundled.ok ? bundled.value : bundled;
}

/** Brings commits of the server's branch `name` that a branch of the workspace does not have. */
export async function bringTo(
  { config, signal }: Asking,
  at: Place,
  { from, branch, url, name }: OwnBranch & { name: string },
): Promise<Awaited<ReturnType<typeof bringBranch>>> {
  const bundled = await withBundle(at, { branch: from, everything: false, signal }, (bundle) =>
    bringBranch({ bundle, from, branch, url, everything: false, token: config.GH_TOKEN!, signal }, name),
  );
  return bundled.ok ? bundled.value : bundled;
}

/** Pushes a branch of a workspace, and records in its repository where to. */
export async function pushBranch(
  context: ToolContext,
  at: Opened,
  { branch, repository, everything = false, ...only }: PushOrder,
): Promise<{ head: string; news: boolean } | { why: string; ahead?: Ahead }> {
  const { config, signal } = context;
  const url = repository.cloneUrl;
  const bundled = await withBundle(at, { branch, everything, signal }, (bundle) =>
    pushBundle({ bundle, url, branch, everything, token: config.GH_TOKEN!, signal, ...only }),
  );
  if (!bundled.ok) return { why: bundled.why };
  if (!bundled.value.ok) return bundled.value;
  const { head, news } = bundled.value;
  await noteRemote(at, { url, branch, head }, signal);
  return { head, news };
}
