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
  { alternates, noSystem, singleCalls }: Pick<ModelFacts, 'alternates' | 'noSystem' | 'singleCalls'> = {},
): readonly ModelMessage[] {
  if (!alternates && !noSystem && !singleCalls && isStrict(messages)) return messages;
  const first = messages.findIndex(({ role }) => role !== 'system');
  const leading = (first < 0 ? messages : messages.slice(0, first)).filter(isSaid);
  const whole = ordered(first < 0 ? [] : messages.slice(first));
  const talk = singleCalls ? whole.flatMap(oneCallEach(whole)) : whole;
  if (talk[0]?.role !== 'user') talk.unshift(BEGIN);
  if (talk.at(-1)!.role === 'assistant') talk.push(GO_ON);
  const system = joined(leading);
  if (noSystem && system) talk.unshift({ ...system, role: 'user' });
  const all = alternates || noSystem ? alternating(talk) : talk;
  return system && !noSystem ? [system, ...all] : all;
}

/** Nothing has to change, as in nearly every request: a long thread is looked at for each step. */
function isStrict(messages: readonly ModelMessage[]): boolean {
  const first = messages[0]?.role === 'system' ? 1 : 0;
  if (messages[first]?.role !== 'user' || messages.at(-1)!.role === 'assistant') return false;
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    if (message.role === 'tool' || (message.role === 'system' && at >= first)) return false;
    if (message.role !== 'assistant') {
      if (isBlank(message)) return false;
      continue;
    }
    const { calls = [], content } = message;
    if (calls.length === 0 && !/\S/.test(content)) return false;
    for (const { id } of calls) {
      const result = messages[++at];
      if (result?.role !== 'tool' || result.callId !== id) return false;
    }
  }
  return true;
}

const isSaid = (message: ModelMessage): message is Said => message.role === 'system' || message.role === 'user';
const isBlank = ({ content, pictures }: { content: string; pictures?: string[] }): boolean =>
  !/\S/.test(content) && !pictures?.length;

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

/**
 * A step with several calls as steps of one call, each with its result. What the provider gave with the step fits none
 * of them.
 */
const oneCallEach =
  (all: readonly ModelMessage[]) =>
  (message: ModelMessage, at: number): ModelMessage[] => {
    if (message.role === 'tool') return isOfSeveral(all, at) ? [] : [message];
    if (message.role !== 'assistant' || (message.calls?.length ?? 0) < 2) return [message];
    return message.calls!.flatMap((call, nth) => [
      { role: 'assistant' as const, content: nth === 0 ? message.content : '', calls: [call] },
      all[at + 1 + nth]!,
    ]);
  };

function isOfSeveral(all: readonly ModelMessage[], at: number): boolean {
  const step = all.slice(0, at).findLast(({ role }) => role === 'assistant') as Assistant;
  return step.calls!.length > 1;
}

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
