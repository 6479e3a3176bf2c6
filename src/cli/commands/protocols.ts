import { command } from './program.ts';

/** Commands that speak a protocol on stdin and stdout: an editor or another program starts them. */
export function addProtocolCommands(): void {
  command(
    'acp',
    'Be the agent of an editor that speaks the Agent Client Protocol; the editor starts it',
    'fetch acp --home ~/.fetch-work',
    () => async (config, reload, flags) => (await import('../protocols/acp/acp.ts')).runAcp({ config, reload, flags }),
  );
  command(
    'mcp-server',
    'Offer the tools to an MCP client, on stdin and stdout; the client starts it',
    'fetch mcp-server --home ~/.fetch-work',
    () => async (config, reload, flags) =>
      (await import('../protocols/mcp/mcp-server.ts')).runMcp({ config, reload, flags }),
  );
}
