import { isTimeNote } from '../../../domain/text/foreign-text.ts';
import { storableText } from '../../../domain/text/storable.ts';
import type { ModelMessage } from '../model.ts';
import { type AssistantMessage, ownState } from '../request/ask.ts';
import { wireId } from '../request/identifiers.ts';
import { objectJson } from '../request/wire.ts';
import type { SdkCall, Vendor } from './vendors.ts';

type Prompt = SdkCall['prompt'];
type PromptMessage = Prompt[number];
type Said = Extract<PromptMessage, { role: 'assistant' }>['content'][number];

/** One block of a step as the vendor gave it, in the form in which it is stored. */
export interface StepPart {
  kind: 'text' | 'thought' | 'call';
  /** of a call: its arguments, as JSON */
  text: string;
  /** of a call */
  id?: string;
  name?: string;
  /** signatures and sealed thoughts, as the SDK names them */
  meta?: Record<string, unknown>;
}

/** A mark behind the last message that Anthropic's cache may hold. */
const CACHED = { anthropic: { cacheControl: { type: 'ephemeral' } } };

/**
 * The messages of a request in the form of the SDK: the results of one step are one message. The vendor's own steps are
 * as it gave them.
 */
export function promptOf(
  messages: readonly ModelMessage[],
  vendor: Vendor,
  asked: { endpoint: string; model: string },
): Prompt {
  const prompt: PromptMessage[] = [];
  const system = messages
    .flatMap((message) => (message.role === 'system' ? [storableText(message.content)] : []))
    .join('\n\n');
  if (system !== '')
    prompt.push({ role: 'system', content: system, ...(vendor.marksCache && { providerOptions: CACHED }) });
  /** calls as the vendor knows them, by our ids */
  const calls = new Map<string, { id: string; name: string }>();
  for (const message of messages) {
    if (message.role === 'user') prompt.push({ role: 'user', content: userParts(message) });
    else if (message.role === 'assistant') {
      const parts = ownParts(message, vendor, asked) ?? foreignParts(message);
      const called = parts.filter(({ kind }) => kind === 'call');
      message.calls?.forEach((call, at) => {
        calls.set(call.id, { id: called[at]!.id!, name: called[at]!.name! });
      });
      const content = parts.flatMap((part) => sdkPart(part, vendor));
      if (content.length > 0) prompt.push({ role: 'assistant', content });
    } else if (message.role === 'tool') {
      const { id, name } = calls.get(message.callId) ?? { id: message.callId, name: 'unknown' };
      const result = {
        type: 'tool-result' as const,
        toolCallId: id,
        toolName: name,
        output: { type: 'text' as const, value: storableText(message.content) },
      };
      const last = prompt.at(-1);
      if (last?.role === 'tool') last.content.push(result);
      else prompt.push({ role: 'tool', content: [result] });
    }
  }
  if (vendor.marksCache) markHistory(prompt);
  return prompt;
}

/**
 * The end of the history is marked, and where the turn began: steps with many calls may leave the last mark further
 * behind than the cache looks. The time is another one in the next request.
 */
function markHistory(prompt: Prompt): void {
  const isTime = ({ content }: Prompt[number]): boolean =>
    typeof content !== 'string' && content[0]?.type === 'text' && isTimeNote(content[0].text);
  const lastOf = (...roles: string[]): number =>
    prompt.findLastIndex((message) => roles.includes(message.role) && !isTime(message));
  const places = new Set([lastOf('user'), lastOf('user', 'tool')]);
  for (const at of places) if (prompt[at]) prompt[at].providerOptions = CACHED;
}

const userParts = ({ content, pictures = [] }: Extract<ModelMessage, { role: 'system' | 'user' }>) => [
  ...(content === '' ? [] : [{ type: 'text' as const, text: storableText(content) }]),
  ...pictures.map((data) => ({
    type: 'file' as const,
    mediaType: 'image/jpeg',
    data: { type: 'data' as const, data },
  })),
];

/** The blocks of a step as the vendor gave them; null when it gave none, or another number of calls. */
function ownParts(
  message: AssistantMessage,
  { wire }: Vendor,
  asked: { endpoint: string; model: string },
): StepPart[] | null {
  const data = ownState(message, { wire, ...asked }) as { parts?: unknown } | undefined;
  if (!Array.isArray(data?.parts)) return null;
  const parts = data.parts as StepPart[];
  return parts.filter(({ kind }) => kind === 'call').length === (message.calls?.length ?? 0) ? parts : null;
}

const foreignParts = ({ content, calls = [] }: AssistantMessage): StepPart[] => [
  { kind: 'text', text: storableText(content) },
  ...calls.map(
    (call): StepPart => ({ kind: 'call', id: wireId(call.id), name: call.name, text: storableText(call.arguments) }),
  ),
];

function sdkPart({ kind, text, id, name, meta }: StepPart, { key }: Vendor): Said[] {
  const own = meta && { providerOptions: { [key]: meta } as NonNullable<Said['providerOptions']> };
  if (kind === 'call')
    return [{ type: 'tool-call', toolCallId: id!, toolName: name!, input: JSON.parse(objectJson(text)), ...own }];
  // an empty text is refused, except where it carries a signature
  if (text === '' && !own) return [];
  return [{ type: kind === 'thought' ? 'reasoning' : 'text', text, ...own }];
}
