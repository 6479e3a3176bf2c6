import type { Db } from '../../store/postgres/database.ts';
import { declarationsOf, extensionsOfTurn } from '../../store/turns/turn-extensions.ts';
import { type AddedTool, tools } from '../registry.ts';
import type { Tool } from '../tool.ts';
import { customTool } from './custom-tool.ts';
import { mcpTool } from './mcp-tool.ts';

/**
 * Tools that the owner brought along, by name, in an order that stays. The model reads them behind those of the
 * registry. A turn works with the same ones from its first step to its last.
 */
export type AddedTools = ReadonlyMap<string, AddedTool>;

/** Of all their declarations, in bytes: what every request can bear. */
const MOST_BYTES = 48_000;

const NONE: AddedTools = new Map();

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
