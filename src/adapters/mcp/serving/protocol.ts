import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  InitializeRequestSchema,
  type JSONRPCMessage,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type Resource,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { VERSION } from '../../../installation.ts';

/**
 * The side of an MCP server that a program talks to. Each request is answered by a server of its own, so nothing of a
 * session is lost with a process; what a session has to know is in its id, and in the store.
 */

export type { CallToolResult, Resource, Tool as OfferedTool } from '@modelcontextprotocol/sdk/types.js';
export { McpError } from '@modelcontextprotocol/sdk/types.js';

/** From this version on, clients understand an event that only has an id. */
export const PRIMED_SINCE = '2025-11-25';

export interface Offer {
  instructions: string;
  tools: () => Tool[];
  resources: () => Promise<Resource[]>;
  /** null: there is no such resource */
  read: (uri: string) => Promise<{ text: string; mimeType: string } | null>;
}

export interface ClientOfSession {
  name: string;
  /** it can ask its person with a form */
  forms: boolean;
}

export interface ToolRequest {
  name: string;
  args: Record<string, unknown>;
  progressToken: string | number | undefined;
}

/**
 * The answer to a request that needs no turn: `initialize`, lists, `ping`. What is unknown or has a wrong shape gets
 * the error of the protocol.
 */
export async function answerRequest(offer: Offer, request: object): Promise<JSONRPCMessage> {
  const server = new Server(
    { name: 'fetch', title: 'Fetch', version: VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: offer.instructions },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: offer.tools() }));
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({ resources: await offer.resources() }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const read = await offer.read(uri);
    // the code that the specification gives for this
    if (!read) throw new McpError(-32002 as ErrorCode, 'Resource not found', { uri });
    return { contents: [{ uri, ...read }] };
  });
  const answered = Promise.withResolvers<JSONRPCMessage>();
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => answered.resolve(message),
  };
  await server.connect(transport);
  transport.onmessage?.(request as JSONRPCMessage);
  try {
    return await answered.promise;
  } finally {
    await server.close();
  }
}

/** Who begins a session; null when the request is no `initialize` of the right shape. */
export function clientOf(request: object): ClientOfSession | null {
  const parsed = InitializeRequestSchema.safeParse(request);
  if (!parsed.success) return null;
  const { clientInfo, capabilities } = parsed.data.params;
  const { elicitation } = capabilities;
  // an empty object is how earlier versions declare forms
  return {
    name: clientInfo.title ?? clientInfo.name,
    forms: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
  };
}

/** A call of a tool. @throws McpError when it has another shape */
export function toolRequest(request: object): ToolRequest {
  const parsed = CallToolRequestSchema.safeParse(request);
  if (!parsed.success)
    throw new McpError(ErrorCode.InvalidParams, 'tools/call needs the name of a tool, and its arguments as an object');
  const { name, arguments: args = {}, _meta } = parsed.data.params;
  return { name, args, progressToken: _meta?.progressToken };
}

export const unknownTool = (name: string): McpError => new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name}`);
export const said = (text: string, isError = false): CallToolResult => ({ content: [{ type: 'text', text }], isError });
