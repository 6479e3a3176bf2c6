import { findServer } from '../../activities/extensions/find-servers.ts';
import { readMcpConfig } from '../../adapters/mcp/configured.ts';
import { hasOwnToken } from '../../adapters/mcp/http.ts';
import { revokeLogin } from '../../adapters/mcp/oauth/login.ts';
import { openLogin, sealLogin } from '../../adapters/mcp/oauth/stored-login.ts';
import type { Config } from '../../config.ts';
import type { ConfiguredServer } from '../../domain/extensions/mcp-config.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { extensionLine } from '../../gateway/intake/commands/extensions.ts';
import { createLog } from '../../log.ts';
import { findExtension } from '../../store/owner/extensions.ts';
import { findLogin, type LoginRow, listLogins, removeLogin, storeLogin } from '../../store/owner/mcp-logins.ts';
import { ensureSecret } from '../instance/home/tokens.ts';
import { withStore } from '../instance/servers/with-store.ts';
import { askForLogin } from './mcp-login.ts';

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
export const list = (config: Config): Promise<void> =>
  withStore(config, 'fetch-mcp', async ({ db }) => {
    const [{ servers, problems }, logins] = await Promise.all([readMcpConfig(config), listLogins(db)]);
    for (const configured of servers) {
      const { name } = configured.server;
      say(
        `${name}: ${state(
          configured,
          logins.find(({ server }) => server === name),
        )}`,
      );
    }
    for (const { name, problem } of problems) say(`${name || 'mcp.json'}: not used. ${problem}`);
    const kept = logins.filter((each) => !servers.some(({ server }) => server.name === each.server));
    for (const { server } of kept) say(`${server}: not used, and its login is still kept: fetch mcp logout ${server}`);
    if (servers.length + problems.length + kept.length === 0)
      say('There is no MCP server: docs/extensions.md says how to add one.');
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
