import { z } from 'zod';
import { KeptOutput } from '../adapters/kennel/kept-output.ts';
import { callAgreed } from '../adapters/mcp/agreed-call.ts';
import { type CustomTool, commandOf } from '../domain/extensions/custom-tool.ts';
import type { DeclaredTool, McpDeclaration } from '../domain/extensions/mcp-declaration.ts';
import { isAgreed } from '../store/owner/extensions.ts';
import type { Db } from '../store/postgres/database.ts';
import { declarationsOf, extensionsOfTurn } from '../store/turns/turn-extensions.ts';
import { type AddedTool, tools } from './registry.ts';
import { defineTool, endedByRestart, restarted, type Tool } from './tool.ts';
import { commandOutcome, printed } from './workspace/command-text.ts';
import { inWorkspace, WITH_IMAGE_MS } from './workspace/in-workspace.ts';

/**
 * Tools that the owner brought along, by name, in an order that stays. The model reads them behind those of the
 * registry. A turn works with the same ones from its first step to its last.
 */
export type AddedTools = ReadonlyMap<string, AddedTool>;

/** Of all their declarations, in bytes: what every request can bear. */
const MOST_BYTES = 48_000;

const NONE: AddedTools = new Map();

/** Of stdout and stderr each, in bytes. */
const KEPT_BYTES = 200_000;
const SHOWN_BYTES = 20_000;

/** A tool of the owner's own, as they agreed to it. */
function customTool(hash: string, custom: CustomTool): Tool {
  const [declared] = custom.tools;
  const { name, description, danger, effect, parameters } = declared!;
  return defineTool({
    name,
    family: 'own_commands',
    description,
    schema: z.fromJSONSchema(parameters as never),
    danger,
    effect,
    runsIn: 'kennel',
    needsShell: true,
    reads: ['command'],
    // the owner chose its hosts; what goes there follows from the arguments
    sends: [
      ...(custom.hosts.length > 0 ? (['egress'] as const) : []),
      ...(danger === 'DANGEROUS' ? (['command'] as const) : []),
    ],
    item: 'command_execution',
    notARoutineStep: true,
    asks: (_, at, say) => say('ask.ownTool', { name: custom.name, at }),
    timeoutMs: custom.timeoutMs + WITH_IMAGE_MS,
    run: async (args, context) => {
      if (!(await isAgreed(context.db, hash)))
        return { ok: false, output: `The owner does not agree to the tool ${custom.name} any more. Nothing was run.` };
      return await inWorkspace(context, undefined, async ({ kennel, path, name: workspace }) => {
        const { line, env } = commandOf(custom, args as Record<string, unknown>);
        const began = performance.now();
        const kept = new KeptOutput(SHOWN_BYTES);
        try {
          const result = await kennel.command({
            workspace: path,
            environment: true,
            argv: ['bash', '-c', line],
            cwd: custom.cwd,
            env: { CI: 'true', TERM: 'dumb', ...env },
            hosts: custom.hosts,
            timeoutMs: custom.timeoutMs,
            maxOutput: KEPT_BYTES,
            label: 'tool',
            onOutput: (_, piece) => kept.push(Buffer.from(piece)),
            signal: context.signal,
          });
          const { ok, output, metadata } = commandOutcome(
            custom.name,
            result,
            performance.now() - began,
            custom.timeoutMs,
          );
          return { ok, output, metadata: { ...metadata, tool: custom.name, workspace } };
        } catch (error) {
          if (!endedByRestart(context.signal)) throw error;
          return {
            ok: false,
            output: `${restarted(custom.name)}\n\n${printed(kept.text())}`.trim(),
            metadata: { tool: custom.name, workspace },
          };
        }
      });
    },
  });
}

/** The start of a container, and of the server in it. */
const START_MS = 60_000;

/** A tool of an MCP server, as the owner agreed to it. `hash`: of the version that has it. */
function mcpTool(hash: string, declaration: McpDeclaration, declared: DeclaredTool): Tool {
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
    asks: (_, __, say) => say('ask.mcpTool', { tool: declared.of, server: server.name }),
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

/** The tools of these versions. A version that is too much after the earlier ones is left out whole. */
export async function addedTools(db: Db, hashes: readonly string[]): Promise<AddedTools> {
  if (hashes.length === 0) return NONE;
  const added = new Map<string, AddedTool>();
  let room = MOST_BYTES;
  for (const { hash, declaration } of await declarationsOf(db, hashes)) {
    if (declaration.kind === 'skill') continue;
    const bytes = Buffer.byteLength(JSON.stringify(declaration.tools));
    if (bytes > room || declaration.tools.some(({ name }) => added.has(name) || tools.has(name))) continue;
    room -= bytes;
    for (const each of declaration.tools) {
      const tool = declaration.kind === 'mcp' ? mcpTool(hash, declaration, each) : customTool(hash, declaration);
      added.set(tool.name, {
        tool,
        declaration: { name: tool.name, description: tool.description, parameters: each.parameters },
      });
    }
  }
  return added;
}

/** The tool of a call: one of the registry, or one that its turn was offered. */
export const toolOfTurn = async (db: Db, turnId: string, name: string): Promise<Tool | undefined> =>
  tools.get(name) ?? (await addedTools(db, await extensionsOfTurn(db, turnId))).get(name)?.tool;
