import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { findServer } from '../../activities/extensions/find-servers.ts';
import { readMcpConfig } from '../../adapters/mcp/configured.ts';
import { hasOwnToken } from '../../adapters/mcp/http.ts';
import { beginLogin, listenOnLoopback, OtherLogin, revokeLogin } from '../../adapters/mcp/oauth/login.ts';
import { openLogin, type StoredLogin, sealLogin } from '../../adapters/mcp/oauth/stored-login.ts';
import type { Config } from '../../config.ts';
import type { ConfiguredServer } from '../../domain/extensions/mcp-config.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { MINUTE } from '../../domain/time.ts';
import { extensionLine } from '../../gateway/intake/commands/extensions.ts';
import { createLog } from '../../log.ts';
import { findExtension } from '../../store/owner/extensions.ts';
import { findLogin, type LoginRow, listLogins, removeLogin, storeLogin } from '../../store/owner/mcp-logins.ts';
import { ensureSecret } from '../instance/home/home.ts';
import { withStore } from '../instance/servers/with-store.ts';
import { openBrowser } from './open.ts';

/** `fetch mcp …`: the logins at MCP servers. */

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function serverNamed(config: Config, name: string): Promise<ConfiguredServer> {
  const { servers, problems } = await readMcpConfig(config);
  const found = servers.find(({ server }) => server.name === name);
  if (found) return found;
  const problem = problems.find((each) => each.name === name || each.name === '')?.problem;
  throw new Error(
    problem
      ? `${name}: ${problem}`
      : `mcp.json has no server ${name}. It has: ${servers.map(({ server }) => server.name).join(', ') || 'none'}.`,
  );
}

/** Each server, and whether its login holds. */
export const list = (config: Config, options: { json?: boolean }): Promise<void> =>
  withStore(config, 'fetch-mcp', async ({ db }) => {
    const [{ servers, problems }, logins] = await Promise.all([readMcpConfig(config), listLogins(db)]);
    const kept = logins.filter((each) => !servers.some(({ server }) => server.name === each.server));
    const loginOf = (name: string) => logins.find(({ server }) => server === name);
    const lines = [
      ...servers.map((each) => ({ name: each.server.name, state: state(each, loginOf(each.server.name)) })),
      ...problems.map(({ name, problem }) => ({ name: name || 'mcp.json', state: `not used. ${problem}` })),
      ...kept.map(({ server }) => ({
        name: server,
        state: `not used, and its login is still kept: fetch mcp logout ${server}`,
      })),
    ];
    if (options.json) return say(JSON.stringify(lines, null, 2));
    for (const line of lines) say(`${line.name}: ${line.state}`);
    if (lines.length === 0) say('There is no MCP server: docs/chat.md says how to add one.');
  });

function state({ server: { name, reach }, headers }: ConfiguredServer, login: LoginRow | undefined): string {
  if (reach.over === 'stdio') return 'runs in a container; no login';
  if (hasOwnToken(headers)) return `${reach.url}, with the Authorization header of mcp.json`;
  if (!login) return `${reach.url}, no login`;
  if (login.url !== reach.url) return `${reach.url}, and the login is for ${login.url}: fetch mcp login ${name}`;
  if (login.refused !== null) return `${reach.url}, needs a login. ${login.refused} fetch mcp login ${name}`;
  const until = login.expires_at?.toISOString().slice(0, 16).replace('T', ' ');
  const end = login.renewable ? 'renewed by itself' : until ? `until ${until} UTC` : 'as long as its server takes it';
  return `${reach.url}, logged in at ${inline(login.issuer, 200)}, ${end}`;
}

/**
 * Logs in, and asks the server at once what it offers. Nothing of an earlier login changes before the new one is there.
 */
export const login = (config: Config, name: string, options: { browser?: boolean; scope?: string }): Promise<void> =>
  withStore(config, 'fetch-mcp', async ({ db }) => {
    const configured = await serverNamed(config, name);
    if (config.FETCH_ENCRYPTION_KEY === undefined) ensureSecret(config.FETCH_HOME, 'encryption-key');
    const got = await askForLogin(configured, {
      config,
      say,
      browser: options.browser !== false,
      scope: options.scope,
    });
    await storeLogin(db, sealLogin(config, name, got));
    say(
      `You are logged in at ${name}.${got.refreshToken === undefined ? ' Its server gives no way to renew the login.' : ''}`,
    );
    await findServer({ db, config, log: createLog('mcp', 'fatal') }, configured, AbortSignal.timeout(60_000));
    const found = await findExtension(db, name);
    if (found) say(extensionLine(found));
  });

/** Forgets a login, and tells its authorization server. */
export const logout = (config: Config, name: string): Promise<void> =>
  withStore(config, 'fetch-mcp', async ({ db }) => {
    const row = await findLogin(db, name);
    if (!row) return say(`There is no login at ${name}.`);
    const { servers } = await readMcpConfig(config);
    const configured = servers.find(({ server }) => server.name === name);
    const told =
      configured !== undefined && (await revokeLogin(configured, openLogin(config, row), config).catch(() => false));
    await removeLogin(db, name);
    say(
      `You are logged out of ${name}.${told ? '' : ' Its authorization server was not told: there, the login goes on until it ends.'}`,
    );
  });

/** A person logs in with a browser, on this machine or on another one. */

const WAIT_MINUTES = 15;

interface LoginTerms {
  config: Config;
  say: (text: string) => void;
  /** open one here, if there is one */
  browser: boolean;
  scope?: string | undefined;
}

/** Returns when the browser has come back, or the person has pasted where it went. @throws McpError */
async function askForLogin(
  configured: ConfiguredServer,
  { config, say, browser, scope }: LoginTerms,
): Promise<StoredLogin> {
  const done = Promise.withResolvers<StoredLogin>();
  let begun: Awaited<ReturnType<typeof beginLogin>> | undefined;
  const take = async (answer: URLSearchParams): Promise<{ ok: boolean; text: string }> => {
    try {
      if (!begun) throw new OtherLogin('The login has not begun.');
      done.resolve(await begun.finish(answer));
      return { ok: true, text: 'The login is done. You can close this page.' };
    } catch (error) {
      // anybody can send such an answer, so it must not end the login
      if (error instanceof OtherLogin) return { ok: false, text: error.message };
      done.reject(error);
      return { ok: false, text: 'The login did not work. The terminal says why.' };
    }
  };
  const { reach } = configured.server;
  const loopback = await listenOnLoopback((reach.over === 'http' && reach.oauth?.redirectPort) || 0, take);
  const over = new AbortController();
  try {
    begun = await beginLogin(configured, { redirect: loopback.redirect, scope, config });
    say(`Open this address in a browser, and log in to ${new URL(begun.issuer).host}:\n\n${begun.address}\n`);
    say(
      'If the browser is on another machine, its last page cannot be shown. Copy the address of that page, and paste it here.',
    );
    if (browser) openBrowser(begun.address);
    readPasted(take, say, over.signal);
    return await Promise.race([done.promise, tooLate(over.signal)]);
  } finally {
    over.abort();
    loopback.close();
  }
}

async function tooLate(signal: AbortSignal): Promise<never> {
  await pause(WAIT_MINUTES * MINUTE, undefined, { signal }).catch(() => {});
  throw new Error(`Nobody has logged in for ${WAIT_MINUTES} minutes. Nothing was changed.`);
}

function readPasted(
  take: (answer: URLSearchParams) => Promise<{ ok: boolean; text: string }>,
  say: (text: string) => void,
  over: AbortSignal,
): void {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    const answer = URL.parse(line.trim())?.searchParams;
    if (!answer?.has('state'))
      return say(
        'This is not the address of the last page: that one begins with http://127.0.0.1 and has "state=" in it.',
      );
    void take(answer).then(({ ok, text }) => ok || say(text));
  });
  over.addEventListener('abort', () => {
    lines.close();
    process.stdin.unref?.();
  });
}
