import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { type ConfiguredServer, type McpConfig, parseMcpConfig } from '../../domain/extensions/mcp-config.ts';
import type { Kennel } from '../kennel/kennel.ts';
import { httpTransport } from './http.ts';
import { McpError, type McpSession, openMcpSession } from './session.ts';
import { stdioTransport } from './stdio.ts';

/** The servers of the owner's file, with their secrets, which are nowhere else. */

type Place = Pick<Config, 'FETCH_HOME' | 'FETCH_MCP_CONFIG'>;

export const mcpConfigFile = ({ FETCH_HOME, FETCH_MCP_CONFIG }: Place): string => resolve(FETCH_MCP_CONFIG ?? join(FETCH_HOME, 'mcp.json'));

const LONGEST_FILE = 1_000_000;

/** A file that is not there has no servers. */
export async function readMcpConfig(place: Place): Promise<McpConfig> {
  const file = mcpConfigFile(place);
  try {
    const text = await readFile(file, 'utf8');
    if (text.length > LONGEST_FILE) return { servers: [], problems: [{ name: '', problem: 'It is too long.' }] };
    return parseMcpConfig(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { servers: [], problems: code === 'ENOENT' ? [] : [{ name: '', problem: `It cannot be read: ${message}.` }] };
  }
}

/** @throws McpError when the file does not have it now */
export async function configuredServer(place: Place, name: string): Promise<ConfiguredServer> {
  const found = (await readMcpConfig(place)).servers.find(({ server }) => server.name === name);
  if (!found) throw new McpError(`The MCP server ${name} is not in ${mcpConfigFile(place)} now.`);
  return found;
}

/** Longer than any call, with the start of its container. */
const LIFETIME_MS = 15 * 60_000;

/** A session with a configured server. `kennel`: the containers of this host; needed over stdio. @throws McpError */
export async function connectTo({ server, env, headers }: ConfiguredServer, kennel: Kennel | undefined, signal: AbortSignal): Promise<McpSession> {
  const { name, reach } = server;
  if (reach.over === 'http') return await openMcpSession(name, httpTransport(name, reach.url, headers), signal);
  if (!kennel) throw new McpError(`The MCP server ${name} runs in a container, and this process has none.`);
  const { command, args, cwd, hosts } = reach;
  return await openMcpSession(name, stdioTransport(kennel, { name, command, args, env, cwd, hosts }, LIFETIME_MS), signal);
}
