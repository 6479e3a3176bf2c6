import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PermissionOption, RequestPermissionResponse, ToolCallUpdate } from '@agentclientprotocol/sdk';
import { ASK_TOOL, MCP_SERVER } from '../questions/ask-human.ts';
import { commandOf } from './tool-calls.ts';

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

/**
 * The option that matches the decision, by its kind, because ids and names differ between agents. It never chooses
 * "always": the person was asked about this one action.
 */
export function choose(options: PermissionOption[], decision: 'allow' | 'deny'): RequestPermissionResponse {
  const kind = decision === 'allow' ? 'allow_once' : 'reject_once';
  const option =
    options.find((one) => one.kind === kind) ??
    (decision === 'deny' ? options.find((one) => one.kind === 'reject_always') : undefined);
  return option ? { outcome: { outcome: 'selected', optionId: option.optionId } } : CANCELLED;
}

/** In the mode that asks nothing, an agent that offers only "always" gets that. */
export function allowAny(options: PermissionOption[]): RequestPermissionResponse {
  const option = options.find((one) => one.kind === 'allow_once') ?? options.find((one) => one.kind === 'allow_always');
  return option ? { outcome: { outcome: 'selected', optionId: option.optionId } } : CANCELLED;
}

export const isEdit = (kind: string | null | undefined): boolean =>
  kind === 'edit' || kind === 'delete' || kind === 'move';

const TITLES = new RegExp(
  `^(mcp__${MCP_SERVER}__${ASK_TOOL}|(mcp[:. ]+)?${MCP_SERVER}[-_./: ]+${ASK_TOOL}|${ASK_TOOL}( \\(${MCP_SERVER}( MCP Server)?\\))?|Ask the person)$`,
  'i',
);

/**
 * Whether a permission is requested for `ask_human`. The whole title must be its name, because a command may contain
 * the name.
 */
export function isAskHuman(toolCall: ToolCallUpdate): boolean {
  if (toolCall.kind === 'execute' || isEdit(toolCall.kind)) return false;
  if (commandOf(toolCall.rawInput)) return false;
  return TITLES.test((toolCall.name ?? toolCall.title ?? '').trim());
}

export { CANCELLED };

/** Whether an agent asks to leave its mode for plans, by which it hands in a plan. */
export const isPlan = (kind: string | null): boolean => kind === 'switch_mode';

/** The plan in such a request: its argument `plan`, or its text. Null when it has none. */
export function planIn({ rawInput, content }: ToolCallUpdate): string | null {
  const argument = rawInput && typeof rawInput === 'object' ? (rawInput as Record<string, unknown>).plan : undefined;
  if (typeof argument === 'string' && argument.trim() !== '') return argument;
  const texts = (content ?? []).flatMap((part) =>
    part.type === 'content' && part.content.type === 'text' ? [part.content.text] : [],
  );
  const text = texts.join('\n').trim();
  return text === '' ? null : text;
}

/** The plan of a folder that was written last; null when there is none. */
export function newestPlan(folder: string): string | null {
  try {
    const plans = readdirSync(folder).filter((name) => name.endsWith('.md'));
    const [newest] = plans
      .map((name) => ({ path: join(folder, name), at: statSync(join(folder, name)).mtimeMs }))
      .sort((a, b) => b.at - a.at);
    return newest ? readFileSync(newest.path, 'utf8').trim() || null : null;
  } catch {
    return null;
  }
}
