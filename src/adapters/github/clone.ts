import { lstat, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { english } from '../../domain/texts/say.ts';
import { isPublicAddress, literalAddress, systemResolver } from '../web/address-guard.ts';
import { configured, credentials, type Ended, git, isProxied, withoutToken } from './host-git.ts';
import { parseRemote, webHost } from './remote.ts';

/**
 * Fetches a repository into an empty folder, without its files: these are checked out in a container, because a
 * repository of others decides what happens then.
 */
interface Clone {
  /** https address, or absolute path of a folder of this host */
  from: string;
  into: string;
  token: string | undefined;
  /** of GitHub's API: the token goes to its server and no other */
  apiUrl: string;
  signal: AbortSignal;
}

type Cloned = { ok: true } | { ok: false; why: string };

export const isFolder = (from: string): boolean => from.startsWith('/');

/** An address that can be fetched without keys of ssh; `from` itself where it is one already. */
export function fetchableAddress(from: string, apiUrl: string): string | null {
  const repository = parseRemote(from, webHost(apiUrl));
  if (repository) return `${new URL(apiUrl).protocol}//${webHost(apiUrl)}/${repository.owner}/${repository.name}.git`;
  const url = URL.parse(from);
  return url && /^https?:$/.test(url.protocol) && !url.username && !url.password ? from : null;
}

export async function cloneInto({ from, into, token, apiUrl, signal }: Clone): Promise<Cloned> {
  const local = isFolder(from);
  const missing = local ? await folderProblem(from) : null;
  if (missing) return { ok: false, why: missing };
  const home = await mkdtemp(join(tmpdir(), 'fetch-clone-'));
  try {
    const env = local ? { GIT_ALLOW_PROTOCOL: 'file' } : await reach(new URL(from), token, apiUrl);
    if (typeof env === 'string') return { ok: false, why: env };
    const settings = join(home, 'settings');
    // the folder may belong to somebody else than this process; git reads this in no other place
    await writeFile(settings, local ? `[safe]\n\tdirectory = *\n` : '');
    const args = [
      'clone',
      '--quiet',
      '--no-checkout',
      '--template=',
      '--no-recurse-submodules',
      '--no-hardlinks',
      '--',
      from,
      into,
    ];
    const ended = await git(home, args, { ...env, GIT_CONFIG_GLOBAL: settings }, signal);
    if (ended.code !== 0)
      return {
        ok: false,
        why: local
          ? english('clone.notCopied', { from, words: lastLine(ended.said) })
          : refusal(from, ended, token, apiUrl),
      };
    if (local) await keepOrigin(home, { from, into }, { GIT_CONFIG_GLOBAL: settings }, signal);
    return { ok: true };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/**
 * How git reaches a server, or why it may not. The owner's GitHub server may be anywhere; any other must have a public
 * address, and git is held to the one that was looked at: it runs on this host, whose private network is nothing for a
 * model or a page.
 */
async function reach(url: URL, token: string | undefined, apiUrl: string): Promise<Record<string, string> | string> {
  if (url.host === webHost(apiUrl))
    return token === undefined ? { GIT_ALLOW_PROTOCOL: 'http:https' } : credentials(url.href, token);
  // a redirect would lead past this
  const settings: Array<[string, string]> = [['http.followRedirects', 'false']];
  const literal = literalAddress(url.hostname);
  const addresses = literal
    ? [literal]
    : (await systemResolver(url.hostname).catch(() => [])).map(({ address }) => address);
  if (addresses.length === 0 && !isProxied()) return english('clone.notFound', { host: url.host });
  const open = addresses.find((address) => isPublicAddress(address));
  if (addresses.length > 0 && !open) return english('clone.notPublic', { host: url.host });
  const port = url.port || (url.protocol === 'https:' ? 443 : 80);
  if (open && !literal)
    settings.push(['http.curloptResolve', `${url.hostname}:${port}:${open.includes(':') ? `[${open}]` : open}`]);
  return { GIT_ALLOW_PROTOCOL: 'http:https', ...configured(settings) };
}

/** Why nothing can be cloned from a folder of this host; null when it can. */
export async function folderProblem(path: string): Promise<string | null> {
  const stat = await lstat(path).catch(() => null);
  if (!stat) return english('clone.noFolder', { path });
  if (!stat.isDirectory()) return english('clone.noDirectory', { path });
  const inside = await Promise.all(['.git', 'HEAD'].map((name) => lstat(join(path, name)).catch(() => null)));
  return inside.some((entry) => entry !== null) ? null : english('clone.noRepository', { path });
}

/**
 * The copy pushes to where the folder pushes, when that is a server: the path of the folder means nothing in a
 * container.
 */
async function keepOrigin(
  home: string,
  { from, into }: { from: string; into: string },
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const { out } = await git(home, ['-C', from, 'config', '--get', 'remote.origin.url'], env, signal);
  const origin = out.trim();
  const url = URL.parse(origin);
  const plain =
    url && /^(?:https?|ssh):$/.test(url.protocol)
      ? origin.replace(/^(https?:\/\/)[^/@]*@/, '$1')
      : /^[\w.-]+@[\w.-]+:/.test(origin)
        ? origin
        : null;
  const change = plain ? ['remote', 'set-url', 'origin', plain] : ['remote', 'remove', 'origin'];
  await git(home, ['-C', into, ...change], env, signal);
}

const lastLine = (said: string): string =>
  said
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^(?:fatal|error): /, '')
    .slice(0, 300) ?? '';

/** Why an address cannot be cloned, as a sentence for known cases. */
function refusal(from: string, { said }: Ended, token: string | undefined, apiUrl: string): string {
  const text = withoutToken(said, token);
  if (/Authentication failed|could not read Username|terminal prompts disabled|\b40[134]\b|not found/i.test(text)) {
    if (new URL(from).host !== webHost(apiUrl)) return english('clone.login', { from });
    return english(token ? 'clone.mayNot' : 'clone.private', { from });
  }
  if (/\b30[12378]\b/.test(text)) return english('clone.moved', { from });
  return english('clone.failed', { from, words: lastLine(text) });
}
