import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { type ConfiguredServer, type McpConfig, parseMcpConfig } from '../../domain/extensions/mcp-config.ts';
import { MINUTE } from '../../domain/time.ts';
import type { Db } from '../../store/postgres/database.ts';
import type { Kennel } from '../kennel/kennel.ts';
import { httpTransport } from './http.ts';
import { type LoginPlace, oauthReach } from './oauth/oauth-fetch.ts';
import { ServerTokens } from './oauth/server-tokens.ts';
import { McpError, type McpSession, openMcpSession } from './session.ts';
import { stdioTransport } from './stdio.ts';

export type { LoginPlace };

/** The servers of the owner's file, with their secrets, which are nowhere else. */

export type McpPlace = Pick<Config, 'FETCH_HOME' | 'FETCH_MCP_CONFIG'>;

export const mcpConfigFile = ({ FETCH_HOME, FETCH_MCP_CONFIG }: McpPlace): string =>
  resolve(FETCH_MCP_CONFIG ?? join(FETCH_HOME, 'mcp.json'));

const LONGEST_FILE = 1_000_000;

/** A file that is not there has no servers. */
export async function readMcpConfig(place: McpPlace): Promise<McpConfig> {
  const file = mcpConfigFile(place);
  try {
    const text = await readFile(file, 'utf8');
    if (text.length > LONGEST_FILE)
      return { servers: [], off: [], problems: [{ name: '', problem: 'It is too long.' }] };
    return parseMcpConfig(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return {
      servers: [],
      off: [],
      problems: code === 'ENOENT' ? [] : [{ name: '', problem: `It cannot be read: ${message}.` }],
    };
  }
}

/** @throws McpError when the file does not have it now */
export async function configuredServer(place: McpPlace, name: string): Promise<ConfiguredServer> {
  const found = (await readMcpConfig(place)).servers.find(({ server }) => server.name === name);
  if (!found) throw new McpError(`The MCP server ${name} is not in ${mcpConfigFile(place)} now.`);
  return found;
}

/** Longer than any call, with the start of its container. */
const LIFETIME_MS = 15 * MINUTE;

/** Dependencies of a session on the process that opens it. */
interface McpAccess {
  /** the containers of this host; needed over stdio */
  kennel?: Kennel | undefined;
  /** where logins are; without it nobody is logged in */
  logins?: { db: Db; config: LoginPlace } | undefined;
}

/** A session with a configured server. @throws McpError */
export async function connectTo(
  configured: ConfiguredServer,
  { kennel, logins }: McpAccess,
  signal: AbortSignal,
): Promise<McpSession> {
  const { server, env, headers } = configured;
  const { name, reach } = server;
  if (reach.over === 'http') {
    const tokens = logins ? tokensOf(configured, reach.url, logins) : null;
    return await openMcpSession(name, httpTransport({ name, url: reach.url, headers, tokens }), signal);
  }
  if (!kennel) throw new McpError(`The MCP server ${name} runs in a container, and this process has none.`);
  const { command, args, cwd, hosts } = reach;
  return await openMcpSession(
    name,
    stdioTransport(kennel, { name, command, args, env, cwd, hosts }, LIFETIME_MS),
    signal,
  );
}

const tokensOf = (
  configured: ConfiguredServer,
  url: string,
  { db, config }: { db: Db; config: LoginPlace },
): ServerTokens => new ServerTokens({ db, place: config, url, reach: oauthReach(configured, url, config) });
