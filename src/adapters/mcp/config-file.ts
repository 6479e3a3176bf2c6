import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { type McpConfig, parseMcpConfig } from '../../domain/extensions/mcp-config.ts';

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
