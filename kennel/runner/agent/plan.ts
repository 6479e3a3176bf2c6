import type { ToolCallUpdate } from '@agentclientprotocol/sdk';

/** Whether an agent asks to leave its mode for plans, by which it hands in a plan. */
export const isPlan = ({ kind }: ToolCallUpdate): boolean => kind === 'switch_mode';

/** The plan in such a request: its argument `plan`, or its text. Null when it only names a file of the agent; its last message is the plan then. */
export function planIn({ rawInput, content }: ToolCallUpdate): string | null {
  const argument = rawInput && typeof rawInput === 'object' ? (rawInput as Record<string, unknown>).plan : undefined;
  if (typeof argument === 'string' && argument.trim() !== '') return argument;
  const texts = (content ?? []).flatMap((part) => (part.type === 'content' && part.content.type === 'text' ? [part.content.text] : []));
  const text = texts.join('\n').trim();
  return text === '' ? null : text;
}
