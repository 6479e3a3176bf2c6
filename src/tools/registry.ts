import { z } from 'zod';
import { currentCall, formerNames } from '../domain/chat/former-tools.ts';
import { closedTo, type ToolAccess } from '../domain/consent/policy.ts';
import { visibleLine } from '../domain/text/evidence.ts';
import { isTooDeep } from '../domain/text/lenient-json.ts';
import { suggestion } from '../domain/text/nearest.ts';
import { english, type Say } from '../domain/texts/say.ts';
import { parseMended, readArguments } from './arguments.ts';
import { browserTools } from './browser/browser.ts';
import { chatTools } from './chats.ts';
import { declarationOf, type ModelTool } from './declarations.ts';
import { githubTools, syncTools } from './github/github.ts';
import { registerGroupTool } from './groups.ts';
import { interactionTools } from './interaction.ts';
import { memoryTools } from './memory.ts';
import { openTools } from './open-tools.ts';
import { preferences } from './preferences.ts';
import { routineChanges } from './routines/changes.ts';
import { cronTools } from './routines/crons.ts';
import { workflowTools } from './routines/workflows.ts';
import { skillRead } from './skills.ts';
import { taskTools } from './tasks/tasks.ts';
import type { Tool } from './tool.ts';
import { webFetch, webSearch } from './web.ts';
import { appTools } from './workspace/apps.ts';
import { bringInTools } from './workspace/bring-in.ts';
import { fileTools } from './workspace/files.ts';
import { gitTools } from './workspace/git.ts';
import { shellTools } from './workspace/shell.ts';
import { workspaceTools } from './workspace/workspaces.ts';

const lookup = (name: string): Tool | undefined => tools.get(name);
const names = (): Iterable<string> => tools.keys();

// Within a family the model reads its tools in this order, which prompt caches count on. Of the core, those that a
// small model needs most come first.
const all: Tool[] = [
  ...interactionTools,
  openTools,
  ...fileTools,
  ...shellTools,
  ...workspaceTools,
  ...taskTools,
  webSearch,
  webFetch,
  ...memoryTools,
  ...workflowTools(lookup, names),
  ...cronTools(lookup),
  ...routineChanges(lookup, names),
  ...gitTools,
  ...syncTools,
  ...bringInTools,
  ...githubTools,
  preferences,
  ...chatTools,
  registerGroupTool,
  ...browserTools,
  skillRead,
  ...appTools,
];

/** Every tool that the model may call, by name. */
export const tools: ReadonlyMap<string, Tool> = new Map(all.map((tool) => [tool.name, tool]));

/** A tool that is not in the registry, because the owner brought it along. */
export interface AddedTool {
  tool: Tool;
  declaration: ModelTool;
}

/** The declarations of all tools of the registry. They are the same objects in every request. */
export const declarations: ReadonlyMap<string, ModelTool> = new Map(
  all.map((tool) => [tool.name, declarationOf(tool)]),
);

/** The question of an approval. `at`: ` in demo` in the language of `say`, or empty. */
export const approvalSentence = (
  name: string,
  args: Record<string, unknown>,
  at: string,
  tool = tools.get(name),
  say: Say = english,
): string => tool?.asks?.(args as never, at, say) ?? say('ask.use', { name: visibleLine(name), at });

type PreparedCall = { ok: true; tool: Tool; args: Record<string, unknown> } | { ok: false; error: string };

/**
 * Checks one call of the model. A call of a tool that the turn does not have is refused, even if the model knows its
 * name. `error` is for the model, which is expected to correct the call.
 */
export function prepareCall(
  wanted: string,
  rawArguments: string,
  access?: ToolAccess,
  added?: ReadonlyMap<string, AddedTool>,
): PreparedCall {
  const meant = nameMeant(wanted, added);
  const { name } = now(meant, {}, added);
  const tool = tools.get(name) ?? added?.get(name)?.tool;
  if (!tool) {
    const known = [...tools.keys(), ...(added?.keys() ?? [])];
    return { ok: false, error: `There is no tool "${name.slice(0, 100)}".${suggestion(name.slice(0, 100), known)}` };
  }
  const closed = access ? closedTo(tool, access) : null;
  if (closed) return { ok: false, error: closed };
  const read = readArguments(rawArguments);
  if (!read.ok)
    return {
      ok: false,
      error: `The arguments of ${name} are not valid JSON: ${read.why}. Send one JSON object${formOf(tool)}.`,
    };
  return checkArguments(tool, now(meant, read.value, added).args);
}

/** A call by the names of today. A tool that the owner has added keeps its name. */
const now = (name: string, args: unknown, added?: ReadonlyMap<string, AddedTool>): { name: string; args: unknown } =>
  added?.has(name) || typeof args !== 'object' || args === null
    ? { name, args }
    : currentCall({ name, args: args as Record<string, unknown> });

/**
 * The tool whose name was written in another way (`functions.file_read`, `file-read`, `FileRead`), where there is only
 * one such.
 */
function nameMeant(wanted: string, added?: ReadonlyMap<string, AddedTool>): string {
  if (tools.has(wanted) || added?.has(wanted) || wanted.length > 200) return wanted;
  const known = [...tools.keys(), ...formerNames, ...(added?.keys() ?? [])];
  const bare = wanted.trim().replace(/:\d+$/, '');
  for (const spelling of [bare, bare.replace(/^.*[./:]/s, '')]) {
    const letters = lettersOf(spelling);
    const meant = letters === '' ? [] : known.filter((name) => lettersOf(name) === letters);
    if (meant.length === 1) return meant[0]!;
  }
  return wanted;
}

const lettersOf = (name: string): string => name.toLowerCase().replace(/[\s_.-]/g, '');

/** ` with path (string)`: what a call cannot leave out. */
function formOf(tool: Tool): string {
  const { properties = {}, required = [] } = declarationOf(tool).parameters as {
    properties?: Record<string, { type?: unknown }>;
    required?: string[];
  };
  const fields = required.map((name) =>
    typeof properties[name]?.type === 'string' ? `${name} (${properties[name].type})` : name,
  );
  return fields.length > 0 ? ` with ${fields.join(', ')}` : '';
}

function checkArguments(tool: Tool, raw: unknown): PreparedCall {
  if (isTooDeep(raw))
    return { ok: false, error: `The arguments of ${tool.name} are nested too deeply. Write them with fewer levels.` };
  const parsed = parseMended(tool.schema, raw);
  if (parsed.success) return { ok: true, tool, args: parsed.data as Record<string, unknown> };
  return {
    ok: false,
    error: `The arguments of ${tool.name} are not right:\n${z.prettifyError(parsed.error)}\nCorrect them and call it again.`,
  };
}
