import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { mcpServer, USUAL } from './server.ts';

/** The same server over stdio. An argument says how it misbehaves. */
const how = process.argv[2];
if (how === 'words') {
  console.error('I am broken.');
  process.exit(3);
}
if (how === 'garbage') for (let at = 0; at < 1000; at += 1) console.log('not MCP at all');
if (how === 'greeting') console.log('Welcome to the server!');
if (how === 'flood') process.stdout.write('x'.repeat(10_000_000));
await mcpServer(
  () => USUAL,
  { calls: [] },
  () => process.exit(1),
).connect(new StdioServerTransport());
