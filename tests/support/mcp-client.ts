import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { TestApp } from './app.ts';

/** One call over HTTP, in a session of its own. The client cannot ask its person. */
export async function callOverMcp(
  { baseUrl }: Pick<TestApp, 'baseUrl'>,
  name: string,
  args: Record<string, unknown> = {},
): Promise<CallToolResult> {
  const client = new Client({ name: 'assistant', version: '1' });
  const headers = { authorization: 'Bearer test-token' };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { requestInit: { headers } }) as never,
  );
  try {
    return (await client.callTool({ name, arguments: args })) as CallToolResult;
  } finally {
    await client.close();
  }
}
