import { z } from 'zod';
import { FAMILIES, type Family } from '../domain/chat/tool-families.ts';
import { declarationsOf, extensionsOfTurn } from '../store/turns/turn-extensions.ts';
import { declarationOf, type ModelTool } from './declarations.ts';
import { defineTool, type ToolContext } from './tool.ts';

/** The families that the model may open, as it is told: their names, and what is in them. */
type Closed = ReadonlyMap<Family, string>;

const BUILT_IN = new Map(
  Object.entries<{ about?: string }>(FAMILIES).flatMap(([name, { about }]) =>
    about ? [[name as Family, about] as const] : [],
  ),
);

/** The families of the registry that a model may open. */
export const builtInFamilies: Closed = BUILT_IN;

/**
 * Opens a family for its thread. The step that stores the call opens the family, so the call itself changes nothing.
 */
export const openTools = defineTool({
  name: 'open_tools',
  family: 'core',
  description: 'Get more tools, from your next step on.',
  schema: z.strictObject({ family: z.string().min(1).max(80).describe(listed(BUILT_IN)) }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  reads: [],
  sends: [],
  onStore: 'reads',
  notARoutineStep: true,
  timeoutMs: 10_000,
  summarise: ({ family }) => family,
  run: async ({ family }, context) => {
    const known = [...BUILT_IN.keys(), ...(await addedFamilies(context))];
    if (known.includes(family as Family))
      return { ok: true, output: `The tools of ${family} are offered to you from now on.` };
    return { ok: false, output: `There is no family of this name. There are: ${known.join(', ')}.` };
  },
});

async function addedFamilies({ db, turnId }: ToolContext): Promise<Family[]> {
  const declarations = await declarationsOf(db, await extensionsOfTurn(db, turnId));
  const families = declarations.flatMap(({ declaration }): Family[] =>
    declaration.kind === 'mcp'
      ? [`mcp_${declaration.server.name}`]
      : declaration.kind === 'tool'
        ? ['own_commands']
        : [],
  );
  return [...new Set(families)];
}

function listed(families: Closed): string {
  return [...families].map(([name, about]) => `${name}: ${about}`).join('; ');
}

const made = new Map<string, ModelTool>();
/** Most sets of families that are remembered: there are few at a time. */
const MOST_SETS = 200;

/**
 * The declaration of `open_tools` where these families can be opened. The same families give the same object, which is
 * serialised once.
 */
export function openToolsFor(families: Closed): ModelTool {
  const about = listed(families);
  const known = made.get(about);
  if (known) return known;
  const { name, description } = declarationOf(openTools);
  const family = { type: 'string', enum: [...families.keys()], description: about };
  const declaration = {
    name,
    description,
    parameters: { type: 'object', properties: { family }, required: ['family'], additionalProperties: false },
  };
  if (made.size >= MOST_SETS) made.clear();
  made.set(about, declaration);
  return declaration;
}
