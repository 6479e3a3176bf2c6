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
