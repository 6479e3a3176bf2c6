import { z } from 'zod';
import { readMcpConfig } from '../../../adapters/mcp/configured.ts';
import type { McpServer } from '../../../domain/extensions/mcp-config.ts';
import type { McpDeclaration } from '../../../domain/extensions/mcp-declaration.ts';
import { listExtensions } from '../../../store/owner/extensions.ts';
import { endpoint } from '../shared/endpoint.ts';

/**
 * MCP servers as they are configured, and as the worker has found them. No server is connected to for an answer, and
 * none of its arguments, variables and headers is told.
 */

const serverRecord = z
  .object({
    name: z.string(),
    enabled: z.boolean().describe('It is not switched off in mcp.json'),
    required: z.boolean(),
    command: z.string().nullable().describe('Of a server that runs here, without its arguments'),
    url: z.string().nullable().describe('Of a server over HTTP, without its query'),
    connected: z.boolean().describe('It has answered when it was asked last'),
    enabled_tools: z.array(z.string()).describe('Empty: all but disabled_tools'),
    disabled_tools: z.array(z.string()),
    agreed: z.boolean().describe('The owner has agreed to what it offers'),
  })
  .meta({ id: 'McpServer' });

export const getMcpServers = endpoint({
  method: 'GET',
  path: '/v1/apps/mcp/servers',
  summary: 'List the MCP servers of the owner',
  answer: {
    schema: z.object({ servers: z.array(serverRecord) }),
    what: 'The servers of mcp.json that can be read, in the order of the names.',
  },
  handle: async (_, { store, config }) => {
    const [configured, found] = await Promise.all([readMcpConfig(config), listExtensions(store.db)]);
    const rows = new Map(found.filter(({ kind }) => kind === 'mcp').map((row) => [row.name, row]));
    const recordOf = (server: McpServer, enabled: boolean): z.infer<typeof serverRecord> => {
      const row = enabled ? rows.get(server.name) : undefined;
      return {
        name: server.name,
        enabled,
        required: false,
        command: server.reach.over === 'stdio' ? server.reach.command : null,
        url: server.reach.over === 'http' ? withoutQuery(server.reach.url) : null,
        connected: row !== undefined && row.hash !== null && row.problem === null,
        enabled_tools: [],
        disabled_tools: Object.entries(server.tools).flatMap(([tool, { disabled }]) => (disabled ? [tool] : [])),
        agreed: row?.agreed === true,
      };
    };
    const servers = [
      ...configured.servers.map(({ server }) => recordOf(server, true)),
      ...configured.off.map((server) => recordOf(server, false)),
    ];
    return { servers: servers.sort((a, b) => (a.name < b.name ? -1 : 1)) };
  },
});

export const getMcpTools = endpoint({
  method: 'GET',
  path: '/v1/apps/mcp/tools',
  summary: 'List the tools of the MCP servers that the owner agreed to',
  query: { server: z.string().describe('Only those of this server') },
  answer: {
    schema: z.object({
      tools: z.array(
        z
          .object({
            server: z.string(),
            name: z.string(),
            prefixed_name: z.string().describe('As the model calls it'),
            description: z.string().nullable(),
            input_schema: z.record(z.string(), z.unknown()),
          })
          .meta({ id: 'McpTool' }),
      ),
    }),
    what: 'The tools, in the order of servers and names.',
  },
  handle: async ({ query }, { store }) => {
    const agreed = (await listExtensions(store.db)).flatMap(({ declaration, agreed }): McpDeclaration[] =>
      agreed && declaration?.kind === 'mcp' ? [declaration] : [],
    );
    const asked = agreed.filter(({ server }) => query.server === undefined || server.name === query.server);
    return { tools: asked.flatMap(toolsOf) };
  },
});

const toolsOf = ({ server, tools }: McpDeclaration) =>
  tools.map(({ of, name, description, parameters }) => ({
    server: server.name,
    name: of,
    prefixed_name: name,
    description: description === '' ? null : description,
    input_schema: parameters,
  }));

/** A query may have a key in it. */
const withoutQuery = (url: string): string => url.split(/[?#]/)[0]!;
