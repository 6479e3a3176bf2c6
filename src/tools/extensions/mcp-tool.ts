import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { configuredServer, connectTo } from '../../adapters/mcp/configured.ts';
import { McpError, type McpSession } from '../../adapters/mcp/session.ts';
import type { McpServer } from '../../domain/extensions/mcp-config.ts';
import { type DeclaredTool, declarationOf, type McpDeclaration } from '../../domain/extensions/mcp-declaration.ts';
import { isAgreed, noteFound } from '../../store/extensions/extensions.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';

/** The start of a container, and of the server in it. */
const START_MS = 60_000;

/** A tool of an MCP server, as the owner agreed to it. `hash`: of the version that has it. */
export function mcpTool(hash: string, declaration: McpDeclaration, declared: DeclaredTool): Tool {
  const { server } = declaration;
  const { name, description, danger, effect } = declared;
  const named = namesIn(declared.parameters);
  return defineTool({
    name,
    // its words reach the model only after the owner has read them, and say whose they are
    description: `Tool of the MCP server ${server.name}, in its own words: ${description}`,
    schema: schemaOf(declared.parameters),
    danger,
    effect,
    runsIn: server.reach.over === 'stdio' ? 'kennel' : 'worker',
    anyHost: true,
    reads: ['mcp'],
    sends: ['mcp'],
    // what only reads may be asked in the person's own words; whatever else follows from text of others is asked about
    ...(danger === 'SAFE' && { sent: (args: unknown) => ({ texts: wordsIn(args, named) }) }),
    notARoutineStep: true,
    asks: () => `Use ${declared.of} of the MCP server ${server.name}?`,
    timeoutMs: server.timeoutMs + START_MS,
    run: (args, context) => run({ hash, server, declared }, args as Record<string, unknown>, context),
  });
}

function schemaOf(parameters: Record<string, unknown>): z.ZodType {
  try {
    return z.fromJSONSchema(parameters as never);
  } catch {
    // the server checks them itself
    return z.record(z.string(), z.unknown());
  }
}

/** Everything in the arguments that could carry words or numbers of others, also as a name that the declaration does not have. */
export function wordsIn(value: unknown, named: ReadonlySet<string>): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap((each) => wordsIn(each, named));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => [...(named.has(name) ? [] : [name]), ...wordsIn(each, named)]);
}

/** The names of arguments in a schema, at any depth. */
export function namesIn(schema: unknown): Set<string> {
  if (typeof schema !== 'object' || schema === null) return new Set();
  const { properties } = schema as { properties?: unknown };
  const own = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  return new Set([...own, ...Object.values(schema).flatMap((each) => [...namesIn(each)])]);
}

async function run(
  { hash, server, declared }: { hash: string; server: McpServer; declared: DeclaredTool },
  args: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolOutcome> {
  const { db, config, kennel, signal } = context;
  const failed = (output: string): ToolOutcome => ({ ok: false, output });
  if (!(await isAgreed(db, hash))) return failed(`The owner does not agree to the MCP server ${server.name} any more. Nothing was called.`);
  let session: McpSession | null = null;
  try {
    const configured = await configuredServer(config, server.name);
    session = await connectTo(configured, kennel, signal);
    const now = declarationOf(configured.server, await session.tools(signal));
    const same = isDeepStrictEqual(stored(configured.server), stored(server)) && now.tools.some((tool) => isDeepStrictEqual(stored(tool), stored(declared)));
    if (!same) {
      await noteFound(db, now);
      return failed(
        `The MCP server ${server.name} does not offer ${declared.of} as the owner agreed to it. Nothing was called. The owner sees what changed with \`tools show ${server.name}\`, and decides.`,
      );
    }
    const result = await session.call(declared.of, args, { signal, timeoutMs: server.timeoutMs });
    return { ok: result.ok, output: result.text, metadata: { server: server.name, tool: declared.of, cut: result.cut } };
  } catch (error) {
    if (!(error instanceof McpError) || signal.aborted) throw error;
    const unknown = session && declared.effect === 'once' ? ' Whether the call had an effect is unknown.' : '';
    return failed(`${error.message}${unknown}`);
  } finally {
    await session?.close();
  }
}

/** As it comes back from the database: without fields that are undefined. */
const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
