import type { AddedFamilies, Family } from '../domain/chat/tool-families.ts';
import { closedTo, type ToolAccess } from '../domain/consent/policy.ts';
import { jsonChars } from '../domain/text/storable.ts';
import type { AddedTools } from './added-tools.ts';
import type { ModelTool } from './declarations.ts';
import { builtInFamilies, openTools, openToolsFor } from './open-tools.ts';
import { declarations, tools } from './registry.ts';
import type { Tool } from './tool.ts';

/**
 * The tools of a turn, and the part of them that is offered to the model. A tool that is not offered may be called by
 * its name all the same.
 */
export interface Offer {
  access: ToolAccess;
  added: AddedTools;
  /** families besides the core, in the order in which they were opened */
  opened: readonly Family[];
}

interface ToolRoom {
  /** how many tools the endpoint takes */
  tools: number;
  /** how many tokens their declarations may have */
  tokens: number;
}

/** More tools are refused by OpenAI and by others that copy its limits. */
export const MOST_TOOLS = 128;
/** The first tools of the core go before tools of opened families where there is little room. */
const ESSENTIAL = 11;
/** Names of tools of a server that the model is told before it opens them. */
const TOLD_NAMES = 6;
/** Characters of JSON for each token, as tokenizers count declarations in the templates of local models. */
const CHARS_PER_TOKEN = 3.3;

/** The tokens of a declaration in a request, estimated rather too high. */
export const tokensOf = (tool: ModelTool): number => Math.ceil(jsonChars(tool) / CHARS_PER_TOKEN) + 12;

/**
 * The tools of a request: the core, and behind it what was opened. Where there is little room, the least important are
 * left out.
 */
export function offeredTools(
  offer: Offer,
  room: ToolRoom = { tools: MOST_TOOLS, tokens: Number.POSITIVE_INFINITY },
): ModelTool[] {
  const core = toolsOf(offer, 'core').map((tool) =>
    tool === openTools ? openToolsFor(closedFamilies(offer)) : declarationIn(offer, tool),
  );
  const families = offer.opened.map((family) => toolsOf(offer, family).map((tool) => declarationIn(offer, tool)));
  const byWeight = [...core.slice(0, ESSENTIAL), ...families.toReversed().flat(), ...core.slice(ESSENTIAL)];
  const fitting = new Set<ModelTool>();
  let tokens = 0;
  for (const tool of byWeight) {
    const more = tokensOf(tool);
    if (fitting.size >= Math.min(room.tools, MOST_TOOLS)) break;
    if (tokens + more > room.tokens) continue;
    tokens += more;
    fitting.add(tool);
  }
  return [...core, ...families.flat()].filter((tool) => fitting.has(tool));
}

const declarationIn = ({ added }: Offer, { name }: Tool): ModelTool =>
  declarations.get(name) ?? added.get(name)!.declaration;

const builtIn = Map.groupBy(tools.values(), ({ family }) => family);

/** The tools of a family that the turn may use. */
function toolsOf({ access, added }: Offer, family: Family): Tool[] {
  const own = [...added.values()].flatMap(({ tool }) => (tool.family === family ? tool : []));
  return [...(builtIn.get(family) ?? []), ...own].filter((tool) => closedTo(tool, access) === null);
}

/**
 * The families that can be opened. Opened ones stay in the list, so that the beginning of the request stays the same.
 */
function closedFamilies(offer: Offer): Map<Family, string> {
  const families = [...builtInFamilies].filter(([family]) => toolsOf(offer, family).length > 0);
  for (const [family, { names, server }] of familiesOf(offer.added)) {
    const about = `${names.slice(0, TOLD_NAMES).join(', ')}${names.length > TOLD_NAMES ? ', …' : ''}`;
    families.push([
      family,
      server === undefined ? `commands of the person (${about})` : `tools of an MCP server (${about})`,
    ]);
  }
  return new Map(families);
}

/** Families of the owner's tools. `server`: of an MCP server; unset for the owner's commands. */
function familiesOf(added: AddedTools): Map<Family, { names: string[]; server?: string }> {
  const families = new Map<Family, { names: string[]; server?: string }>();
  for (const { tool } of added.values()) {
    const server = /^mcp_(.*)$/.exec(tool.family)?.[1];
    const family = families.get(tool.family) ?? { names: [], ...(server !== undefined && { server }) };
    family.names.push(server === undefined ? tool.name : tool.name.slice(tool.family.length + 1));
    families.set(tool.family, family);
  }
  return families;
}

/** The words of a person that open families of the owner's tools: the name of a server, the name of a command. */
export const openingWords = (added: AddedTools): AddedFamilies =>
  new Map(
    [...familiesOf(added)].map(([family, { names, server }]) => [family, server === undefined ? names : [server]]),
  );

/** The families that calls of an answer open: of the tools that they name, and those that they ask for. */
export function familiesCalled(
  calls: ReadonlyArray<{ name: string; args: Record<string, unknown> }>,
  offer: Offer,
): Family[] {
  const openable = closedFamilies(offer);
  return calls.flatMap(({ name, args }): Family[] => {
    if (name === openTools.name) return openable.has(args.family as Family) ? [args.family as Family] : [];
    const tool = tools.get(name) ?? offer.added.get(name)?.tool;
    return tool && tool.family !== 'core' ? [tool.family] : [];
  });
}
