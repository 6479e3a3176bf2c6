import { note } from '../../../domain/text/foreign-text.ts';
import type { ModelFacts, ModelMessage } from '../model.ts';

type Said = Extract<ModelMessage, { role: 'system' | 'user' }>;
type Assistant = Extract<ModelMessage, { role: 'assistant' }>;
type Result = Extract<ModelMessage, { role: 'tool' }>;

const BEGIN: Said = { role: 'user', content: note('a program', 'The chat begins here.') };
const GO_ON: Said = { role: 'user', content: note('a program', 'Go on.') };
/** Where a user message must not follow the result of a tool. */
const RESULTS_READ: Assistant = { role: 'assistant', content: 'I have read the results.' };
const NO_RESULT = 'No result: this call was interrupted before it ended, so its outcome is unknown.';

/**
 * The messages of a request in an order that every server accepts: at most one system message, and first; then a user
 * message; each call with one result, right behind the message of its step; a user message or a result at the end; no
 * message without content. Where the facts say so, roles alternate as chat templates check it, or the system message is
 * a part of the first user message. A message that needs no change stays the same object.
 */
export function strictThread(
  messages: readonly ModelMessage[],
  { alternates, noSystem }: Pick<ModelFacts, 'alternates' | 'noSystem'> = {},
): ModelMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const leading = (first < 0 ? messages : messages.slice(0, first)).filter(isSaid);
  const talk = ordered(first < 0 ? [] : messages.slice(first));
  if (talk[0]?.role !== 'user') talk.unshift(BEGIN);
  if (talk.at(-1)!.role === 'assistant') talk.push(GO_ON);
  const system = joined(leading);
  if (noSystem && system) talk.unshift({ ...system, role: 'user' });
  const all = alternates || noSystem ? alternating(talk) : talk;
  return system && !noSystem ? [system, ...all] : all;
}

const isSaid = (message: ModelMessage): message is Said => message.role === 'system' || message.role === 'user';
const isBlank = ({ content, pictures }: { content: string; pictures?: string[] }): boolean =>
  content.trim() === '' && !pictures?.length;

/** Several messages as one; null when they say nothing. */
function joined(said: readonly Said[]): Said | null {
  const full = said.filter((message) => !isBlank(message));
  if (full.length < 2) return full[0] ?? null;
  const pictures = full.flatMap((message) => message.pictures ?? []);
  const content = full.flatMap((message) => (message.content.trim() === '' ? [] : message.content)).join('\n\n');
  return { role: full[0]!.role, content, ...(pictures.length > 0 && { pictures }) };
}

/** A message, with the results of its calls where it is a step of the assistant. */
interface Placed {
  message: Said | Assistant;
  results: Array<Result | undefined>;
}

/** Without empty messages, calls without a result, and results without a call. */
function ordered(messages: readonly ModelMessage[]): ModelMessage[] {
  const placed: Placed[] = [];
  let step: { calls: NonNullable<Assistant['calls']>; results: Placed['results'] } | undefined;
  for (const message of messages) {
    if (message.role === 'tool') {
      const at = step ? step.calls.findIndex(({ id }, index) => id === message.callId && !step?.results[index]) : -1;
      if (at >= 0) step!.results[at] = message;
    } else if (message.role !== 'assistant') {
      if (!isBlank(message)) placed.push({ message: message.role === 'user' ? message : asNote(message), results: [] });
    } else if (message.calls?.length || message.content.trim() !== '') {
      const results: Placed['results'] = [];
      placed.push({ message, results });
      step = { calls: message.calls ?? [], results };
    }
  }
  return placed.flatMap(({ message, results }) => [
    message,
    ...(message.role === 'assistant' ? resultsOf(message, results) : []),
  ]);
}

const asNote = ({ content }: Said): Said => ({ role: 'user', content: note('instructions of a program', content) });

const resultsOf = ({ calls = [] }: Assistant, results: Placed['results']): Result[] =>
  calls.map((call, at) => results[at] ?? { role: 'tool', callId: call.id, content: NO_RESULT });

/** One message where several of the same role follow each other. */
function alternating(messages: readonly ModelMessage[]): ModelMessage[] {
  const out: ModelMessage[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    if (last?.role === 'user' && message.role === 'user') out[out.length - 1] = joined([last, message])!;
    else if (last?.role === 'assistant' && message.role === 'assistant')
      out[out.length - 1] = { ...message, content: texts(last, message) };
    else if (last?.role === 'tool' && message.role === 'user') out.push(RESULTS_READ, message);
    else out.push(message);
  }
  return out;
}

const texts = (...messages: Assistant[]): string =>
  messages.flatMap(({ content }) => (content.trim() === '' ? [] : content)).join('\n\n');
