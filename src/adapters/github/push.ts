import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials, type Ended, git, withoutToken } from './host-git.ts';

/**
 * Pushes from this process, because the token must not enter a container. Only the commits of the workspace are used: they come as a bundle and go through a
 * fresh bare repository. So the git that has the token reads no hook, filter, helper or setting of the workspace.
 */
export interface Push {
  /** file made by `git bundle create` */
  bundle: string;
  /** http(s) address of the repository, without credentials */
  url: string;
  /** the current branch; pushed first, because the first branch of an empty repository becomes its default */
  branch: string;
  /** also push every branch and tag of the bundle */
  everything: boolean;
  token: string;
  signal: AbortSignal;
}

export type Pushed = { ok: true; head: string; news: boolean } | { ok: false; why: string };

export async function pushBundle({ bundle, url, branch, everything, token, signal }: Push): Promise<Pushed> {
  const folder = await mkdtemp(join(tmpdir(), 'fetch-push-'));
  try {
    const run = (args: string[], env: Record<string, string>) => git(folder, args, env, signal);
    const local = { GIT_ALLOW_PROTOCOL: 'file' };
    const repository = join(folder, 'repository');
    const made = await run(['init', '--quiet', '--bare', '--template=', repository], local);
    if (made.code !== 0) return { ok: false, why: made.said };
    const at = ['--git-dir', repository];
    const refs = everything ? ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'] : [`+refs/heads/${branch}:refs/heads/${branch}`];
    const taken = await run([...at, 'fetch', '--quiet', '--no-tags', '--no-recurse-submodules', '--no-auto-gc', '--update-head-ok', bundle, ...refs], local);
    if (taken.code !== 0) return { ok: false, why: `The commits could not be read: ${taken.said}` };
    const head = (await run([...at, 'rev-parse', '--verify', `refs/heads/${branch}`], local)).out.trim();
    const remote = credentials(url, token);
    const first = await run([...at, 'push', '--porcelain', '--no-verify', url, `refs/heads/${branch}:refs/heads/${branch}`], remote);
    if (first.code !== 0) return { ok: false, why: refusal(first, token) };
    if (everything) {
      const rest = await run([...at, 'push', '--porcelain', '--no-verify', url, 'refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*'], remote);
      if (rest.code !== 0) return { ok: false, why: refusal(rest, token) };
    }
    return { ok: true, head, news: !/^=\t/m.test(first.out) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Why a push was refused, as a sentence for known cases. */
function refusal({ out, said }: Ended, token: string): string {
  const text = withoutToken(`${said}\n${out}`, token);
  if (/\[rejected\][^\n[]*(fetch first|non-fast-forward)/.test(text))
    return 'GitHub has commits on this branch that the workspace does not have. Nothing was overwritten; push to another branch, or bring them in first.';
  if (/workflow. scope/.test(text)) return 'GitHub refuses changes of .github/workflows by this token: it needs the scope workflow.';
  if (/Authentication failed|could not read Username|\b40[13]\b/.test(text)) return 'GitHub refuses the push: GH_TOKEN may not write to this repository.';
  const rejected = text.split('\n').find((line) => line.includes('[remote rejected]'));
  const remote = rejected && /\(([^()]{1,300})\)/.exec(rejected)?.[1];
  return remote ? `GitHub refuses the push: ${remote}.` : `The push failed: ${text.trim().split('\n').slice(-5).join(' ').slice(0, 500)}`;
}
