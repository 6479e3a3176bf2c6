import type { ToolAccess } from '../../../domain/consent/tool-access.ts';
import { cut } from '../../../domain/text/storable.ts';
import type { CheckedCall } from '../../../store/turns/steps/new-calls.ts';
import type { AddedTools } from '../../../tools/extensions/added-tools.ts';
import { prepareCall, tools } from '../../../tools/registry.ts';
import { dangerOf } from '../../../tools/tool.ts';

/**
 * A call of a model, checked against the tools of its turn. A call that is refused carries the reason as its result.
 */
export function checkCall(
  call: { id: string; name: string; arguments: string },
  access: ToolAccess,
  added: AddedTools,
): CheckedCall {
  const prepared = prepareCall(call.name, call.arguments, access, added);
  if (!prepared.ok) return refusedCall(call, prepared.error);
  const { tool, args } = prepared;
  const summary = tool.summarise ? cut(`${tool.name} ${tool.summarise(args as never)}`, 100) : tool.name;
  return {
    providerId: call.id,
    args: args as Record<string, unknown>,
    item: tool.item,
    verdict: {
      ...{ name: tool.name, danger: dangerOf(tool, args), effect: tool.effect, summary, timeoutMs: tool.timeoutMs },
      ...(tool.preview && { preview: true }),
      ...(tool.onStore && { onStore: true }),
    },
  };
}

/**
 * A call that never runs. An empty object is stored as its arguments, so that no later request carries malformed text.
 */
export function refusedCall({ id, name }: { id: string; name: string }, refusal: string): CheckedCall {
  return {
    providerId: id,
    args: {},
    item: tools.get(name)?.item,
    refusal,
    verdict: {
      name: safeName(name),
      danger: 'SAFE',
      effect: 'idempotent',
      summary: `${safeName(name)}: not run`,
      refused: true,
      timeoutMs: 1000,
    },
  };
}

/** Providers reject a request whose history has a tool name outside this grammar. */
const safeName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
