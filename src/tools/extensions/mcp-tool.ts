import { z } from 'zod';
import { callAgreed } from '../../adapters/mcp/agreed-call.ts';
import type { DeclaredTool, McpDeclaration } from '../../domain/extensions/mcp-declaration.ts';
import { defineTool, type Tool } from '../tool.ts';

/** The start of a container, and of the server in it. */
const START_MS = 60_000;

/** A tool of an MCP server, as the owner agreed to it. `hash`: of the version that has it. */
export function mcpTool(hash: string, declaration: McpDeclaration, declared: DeclaredTool): Tool {
  const { server } = declaration;
  const { name, description, danger, effect } = declared;
  const named = namesIn(declared.parameters);
  return defineTool({
    name,
    family: `mcp_${server.name}`,
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
    run: async (args, { db, config, kennel, signal }) => {
      const { ok, text, cut, called } = await callAgreed(
        { db, config, kennel },
        { hash, server, declared },
        args as Record<string, unknown>,
        signal,
      );
      return { ok, output: text, ...(called && { metadata: { server: server.name, tool: declared.of, cut } }) };
    },
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

/**
 * Everything in the arguments that could carry words or numbers of others, also as a name that the declaration does not
 * have.
 */
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
