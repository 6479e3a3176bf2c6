import type { ModelMessage } from '../contracts/model.ts';
import { type FileShown, withDocuments } from './files.ts';

/** Tool outputs longer than this are shown cut, with how to read on. */
export const SHOWN_OUTPUT_CHARS = 8000;

export interface Said {
  ord: number;
  role: 'user' | 'assistant';
  content: string;
  call_ids: string[];
  /** what came with a message of the person */
  attachment_ids?: string[];
  tokens: number;
}
export interface Called {
  id: string;
  name: string;
  args: Record<string, unknown>;
  state: string;
  /** perhaps only as much as is shown of it */
  output: string | null;
  /** characters of the whole output; those of `output` when unset */
  size?: number | null;
}
export type CallsById = Pick<ReadonlyMap<string, Called>, 'get'>;

export function shownOutput(call: Pick<Called, 'id' | 'output' | 'state' | 'size'>): string {
  if (call.state !== 'done' || call.output === null) return 'No result: this call was interrupted before it ended, so its outcome is unknown.';
  if (call.output.length <= SHOWN_OUTPUT_CHARS) return call.output;
  return `${call.output.slice(0, SHOWN_OUTPUT_CHARS)}\n[cut at ${SHOWN_OUTPUT_CHARS} of ${Math.max(call.output.length, call.size ?? 0)} characters; read on with read_output {"callId":"${call.id}","offset":${SHOWN_OUTPUT_CHARS}}]`;
}

/**
 * The messages of a model request. A call and its result are made side by side here, from the call's own row, so they
 * can never be separated, and a call without a result can never poison a later request.
 */
export function toModelMessages(
  system: string,
  summary: string | null,
  messages: readonly Said[],
  calls: CallsById,
  files: ReadonlyMap<string, FileShown> = new Map(),
): ModelMessage[] {
  const out: ModelMessage[] = [{ role: 'system', content: summary ? `${system}\n\nWhat was said before, summed up:\n${summary}` : system }];
  for (const message of messages) {
    if (message.role === 'user' && message.attachment_ids?.length) {
      const shown = message.attachment_ids.flatMap((id) => files.get(id) ?? []);
      const pictures = shown.flatMap((file) => file.picture ?? []);
      out.push({ role: 'user', content: withDocuments(message.content, shown), ...(pictures.length > 0 && { pictures }) });
    } else {
      out.push(...saidAs(message, calls));
    }
  }
  return out;
}

/** Kept with its message: where the history is the same object again, its request is made of the same ones. */
const made = new WeakMap<Said, ModelMessage[]>();

function saidAs(message: Said, calls: CallsById): ModelMessage[] {
  const known = made.get(message);
  if (known) return known;
  const out = modelMessages(message, calls);
  made.set(message, out);
  return out;
}

function modelMessages(message: Said, calls: CallsById): ModelMessage[] {
  if (message.role === 'user') return [{ role: 'user', content: message.content }];
  const made = message.call_ids.flatMap((id) => calls.get(id) ?? []);
  return [
    {
      role: 'assistant',
      content: message.content,
      ...(made.length > 0 && { calls: made.map((call) => ({ id: call.id, name: call.name, arguments: JSON.stringify(call.args) })) }),
    },
    ...made.map((call): ModelMessage => ({ role: 'tool', callId: call.id, content: shownOutput(call) })),
  ];
}

const weight = (message: Said, calls: CallsById): number =>
  message.tokens + message.call_ids.reduce((sum, id) => sum + Math.ceil(Math.min(calls.get(id)?.output?.length ?? 0, SHOWN_OUTPUT_CHARS) / 4) + 20, 0);

/**
 * Where to cut the history so that what stays fits half the budget: the `ord` of the last message to sum up, or null
 * when everything fits. The cut lies before a user message, so that a turn's steps stay together; the newest one always stays.
 */
export function compactionPoint(messages: readonly Said[], calls: CallsById, budgetTokens: number): number | null {
  const total = messages.reduce((sum, message) => sum + weight(message, calls), 0);
  if (total <= budgetTokens) return null;
  let kept = 0;
  let point: number | null = null;
  for (let index = messages.length - 1; index > 0; index--) {
    const message = messages[index]!;
    kept += weight(message, calls);
    if (kept > budgetTokens / 2 && point !== null) break;
    if (message.role === 'user') point = messages[index - 1]!.ord;
  }
  return point;
}
