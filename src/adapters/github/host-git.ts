import { execFile, spawn } from 'node:child_process';
import { childEnvironment } from '../../config.ts';
import type { Author } from '../../contracts/workspace-ops.ts';

/** git as a process of the host, with an environment of its own: it reads no settings, hooks or helpers of anybody. */

export interface Ended {
  code: number | null;
  out: string;
  said: string;
}

const PASSED = /^(PATH|https?_proxy|all_proxy|no_proxy|SSL_CERT_FILE|SSL_CERT_DIR|GIT_SSL_CAINFO|CURL_CA_BUNDLE)$/i;

/**
 * Settings of one process: the token goes only to this server, follows no redirect, and is in no file and no argument.
 */
export function credentials(url: string, token: string): Record<string, string> {
  const { origin, protocol } = new URL(url);
  const settings: Array<[string, string]> = [
    [
      `http.${origin}/.extraHeader`,
      `Authorization: Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`,
    ],
    ['http.followRedirects', 'false'],
    ['credential.helper', ''],
    ['core.hooksPath', '/dev/null'],
  ];
  return { GIT_ALLOW_PROTOCOL: protocol.replace(':', ''), ...configured(settings) };
}

/** Settings of one process, as its environment. */
export const configured = (settings: ReadonlyArray<readonly [key: string, value: string]>): Record<string, string> => ({
  GIT_CONFIG_COUNT: String(settings.length),
  ...Object.fromEntries(
    settings.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
});

/** Names may have no address on this host then: the proxy knows them. */
export const isProxied = (): boolean =>
  Object.keys(childEnvironment({})).some((name) => /^(?:https?|all)_proxy$/i.test(name));

/** The output of git, without the token. */
export const withoutToken = (text: string, token: string | undefined): string =>
  token
    ? text.replaceAll(token, '***').replaceAll(Buffer.from(`x-access-token:${token}`).toString('base64'), '***')
    : text;

/**
 * Runs git with its own environment. `home` is a folder of this call. `onOut` takes what it prints, which may be more
 * than fits into memory.
 */
export function git(
  home: string,
  args: string[],
  extra: Record<string, string>,
  signal: AbortSignal,
  onOut?: (text: string) => void,
): Promise<Ended> {
  const passed = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => PASSED.test(name)));
  const env = {
    ...passed,
    HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    ...extra,
  };
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'], signal });
    const [out, errors]: [string[], string[]] = [[], []];
    child.stdout.setEncoding('utf8').on('data', onOut ?? ((piece: string) => void out.push(piece)));
    child.stderr.setEncoding('utf8').on('data', (piece: string) => void errors.push(piece));
    child.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT'
        ? resolve({ code: null, out: '', said: 'git is not installed on this host.' })
        : reject(error),
    );
    child.on('close', (code) => resolve({ code, out: out.join(''), said: errors.join('').trim().slice(-2000) }));
  });
}

const READ_MS = 5_000;

/**
 * The name and address in the git settings of the user who runs this process (`git config --global`); null when one of
 * them is missing. Never throws.
 */
export const gitIdentityOfUser = (): Promise<Author | null> =>
  new Promise((resolve) => {
    const args = ['config', '--global', '--null', '--get-regexp', '^user\\.(name|email)$'];
    execFile('git', args, { env: childEnvironment({}), timeout: READ_MS, maxBuffer: 64_000 }, (error, out) => {
      // the last value of a key counts
      const found = new Map(
        error
          ? []
          : out
              .split('\0')
              .map((entry) => [entry.split('\n', 1)[0]!, entry.slice(entry.indexOf('\n') + 1).trim()] as const),
      );
      const [name, email] = [found.get('user.name'), found.get('user.email')];
      resolve(name && email ? { name: name.slice(0, 100), email: email.slice(0, 200) } : null);
    });
  });
