import type { Call } from '../background/background.ts';

/** `fetch mcp-server`: our tools for an MCP client, on stdin and stdout. Returns when the client has left. */
export async function runMcp({ config }: Call): Promise<void> {
  throw new Error(`Not built yet (${config.FETCH_HOME})`);
}
