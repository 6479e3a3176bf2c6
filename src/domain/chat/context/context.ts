import type { ModelMessage, StepState } from '../../../contracts/model.ts';
import type { Source } from '../../../contracts/taint.ts';
import { type FileShown, unseenPictures, withDocuments } from '../../text/files.ts';
import { note, quotation, timeNote } from '../../text/foreign-text.ts';
import { jsonChars, prefix } from '../../text/storable.ts';

/** Tool outputs longer than this are shown cut, with how to read on. */
export const SHOWN_OUTPUT_CHARS = 8000;

/**
 * Characters of one message that a request shows: half of its token budget, so that there is room for what belongs to
 * the message.
 */
export const shownOfMessage = (budgetTokens: number): number => Math.max(budgetTokens * 2, SHOWN_OUTPUT_CHARS);

/** Characters that a request shows of each text. */
export interface ShownChars {
  /** of a message, of one of its documents, and of the summary */
  message: number;
  /** of what a call has brought */
  output: number;
  /** ids of calls whose output is shown as its first words only */
  brief?: ReadonlySet<string>;
}

/** However small a context is, this much of a text is shown. */
const LEAST_SHOWN = 400;
/** Of an output that has to make room for newer ones. */
const BRIEF = 200;

/**
 * What is shown within a budget of tokens, so that one long text leaves room for others. `room`: all that the context
 * has; infinite where it is not known.
 */
export function shownWithin({ history, room }: { history: number; room: number }): ShownChars {
  const message = Math.min(shownOfMessage(history), Math.max(room * 2, LEAST_SHOWN));
  return { message, output: Math.min(SHOWN_OUTPUT_CHARS, message) };
}

/**
 * The same with the oldest outputs as brief as it takes to fit the room. The messages of one turn cannot be summed up,
 * and it may read without end.
 */
export function fittedTo(
  room: number,
  shown: ShownChars,
  messages: readonly DialogueMessage[],
  calls: CallsById,
): ShownChars {
  if (room === Number.POSITIVE_INFINITY) return shown;
  const made = messages.flatMap(({ call_ids }) => call_ids.flatMap((id) => calls.get(id) ?? []));
  const args = made.reduce((sum, call) => sum + jsonChars(call.args) / 4, 0);
  let over = messages.reduce((sum, message) => sum + weight(message, calls, shown), args) - room;
  const brief = new Set<string>();
  for (const { id, output } of made) {
    if (!(over > 0)) break;
    const saved = Math.min(output?.length ?? 0, shown.output) - BRIEF;
    if (saved <= 0) continue;
    brief.add(id);
    over -= saved / 4;
  }
  return { ...shown, brief };
}

export interface DialogueMessage {
  /** id by which the model reads on in a message that is shown cut */
  id?: string;
  ord: number;
  role: 'user' | 'assistant';
  content: string;
  call_ids: string[];
  /** what came with a message of the person */
  attachment_ids?: readonly string[];
  /** people other than the owner whose text is in the content */
  sources?: readonly Source[];
  /** the part of the content that the person wrote, when it is not all of it */
  words?: string | null;
  /** with the state, where there is one */
  tokens: number;
  /** what the provider wants back with a message that the model wrote */
  state?: StepState | null;
}
export interface Called {
  id: string;
  name: string;
  args: Record<string, unknown>;
  state: string;
  /** may hold only the part that is shown */
  output: string | null;
  /** length of the whole output in characters; the length of `output` when unset */
  size?: number | null;
  /** id of the picture that it made */
  picture?: string | null;
  /** whose text is in the output; unset when that was not recorded */
  sources?: readonly Source[] | null;
}
export type CallsById = Pick<ReadonlyMap<string, Called>, 'get'>;

function shownOutput(call: Pick<Called, 'id' | 'output' | 'state' | 'size'>, mostChars = SHOWN_OUTPUT_CHARS): string {
  if (call.state !== 'done' || call.output === null)
    return 'No result: this call was interrupted before it ended, so its outcome is unknown.';
  if (call.output.length <= mostChars) return call.output;
  const shown = prefix(call.output, mostChars);
  const size = Math.max(call.output.length, call.size ?? 0);
  return `${shown}\n[cut at ${shown.length} of ${size} characters; read on with read_output {"callId":"${call.id}","offset":${shown.length}}]`;
}

const WHOLE: ShownChars = { message: Number.POSITIVE_INFINITY, output: SHOWN_OUTPUT_CHARS };

/** Present facts, besides the dialogue. */
interface Now {
  /** `ord` of the first message of this turn: it stands before that one */
  before: number | null;
  /** the state of the work */
  text: string | null;
  map?: string | null;
  /** the registered group that the chat is */
  group?: string | null;
  /** the person's clock: when the turn began, and when a long wait has made that untrue */
  clock?: { began: string; since?: string };
}

/**
 * The messages of a model request. A call and its result are built together from the call's row: providers refuse a
 * request that has one without the other.
 * `repeated`: by id of a call, how many times in a row it has brought the same.
 */
export function toModelMessages(
  system: string,
  summary: string | null,
  messages: readonly DialogueMessage[],
  calls: CallsById,
  files: ReadonlyMap<string, FileShown> = new Map(),
  shown: ShownChars = WHOLE,
  now: Now = { before: null, text: null },
  repeated: ReadonlyMap<string, number> = new Map(),
): ModelMessage[] {
  const out: ModelMessage[] = [{ role: 'system', content: system }];
  // anybody may have written parts of it, so it must not be in the system message
  if (summary)
    out.push({
      role: 'user',
      content: note('what was said before, summed up by a program', prefix(summary, shown.message)),
    });
  for (const given of messages) {
    // before the words of this turn: what stands before it is the same as in earlier requests, so caches of providers
    // keep it
    if (now.clock && given.ord === now.before)
      out.push({ role: 'user', content: timeNote(`It is ${now.clock.began}.`) });
    if (now.group != null && given.ord === now.before)
      out.push({ role: 'user', content: note('the group, as its channel names it', now.group) });
    if (now.text !== null && given.ord === now.before)
      out.push({ role: 'user', content: note('the state of the work, from the records', now.text) });
    if (now.map != null && given.ord === now.before)
      out.push({
        role: 'user',
        content: note('a map of the repository of the active workspace, from names in its files', now.map),
      });
    const message = given.role === 'user' && given.content.length > shown.message ? begun(given, shown.message) : given;
    if (message.role === 'user' && message.attachment_ids?.length) {
      const attached = message.attachment_ids.flatMap((id) => files.get(id) ?? []);
      const pictures = attached.flatMap((file) => file.picture ?? []);
      out.push({
        role: 'user',
        content: [withDocuments(message.content, attached, shown.message), unseenPictures(attached)]
          .filter(Boolean)
          .join('\n'),
        ...(pictures.length > 0 && { pictures }),
      });
    } else {
      const said = saidAs(message, calls, shown);
      out.push(...(repeated.size > 0 ? said.map((each) => withRepetition(each, repeated)) : said));
      if (files.size > 0) out.push(...picturesOf(message, calls, files));
    }
  }
  // at the end, where it changes nothing that a cache has
  if (now.clock?.since !== undefined)
    out.push({ role: 'user', content: timeNote(`Time has passed. It is ${now.clock.since} now.`) });
  return out;
}

/** The result of a call, with a note where the model goes round in circles. */
function withRepetition(message: ModelMessage, repeated: ReadonlyMap<string, number>): ModelMessage {
  const times = message.role === 'tool' ? repeated.get(message.callId) : undefined;
  if (message.role !== 'tool' || times === undefined) return message;
  const told = `[This brought the same result ${times} times in a row, and calling it again will not change that. Do something else, or answer with what is known.]`;
  return { ...message, content: `${message.content}\n${told}` };
}

/**
 * The pictures that tools made. A result of a tool holds text alone, so they come after it as a message of a program.
 */
function picturesOf(
  { call_ids }: DialogueMessage,
  calls: CallsById,
  files: ReadonlyMap<string, FileShown>,
): ModelMessage[] {
  const made = call_ids.flatMap((id) => {
    const call = calls.get(id);
    const file = call?.picture ? files.get(call.picture) : undefined;
    return call && file?.picture ? { line: `${file.id}, made by ${call.name}`, picture: file.picture } : [];
  });
  if (made.length === 0) return [];
  const content = note('pictures that tools made', made.map(({ line }) => line).join('\n'));
  return [{ role: 'user', content, pictures: made.map(({ picture }) => picture) }];
}

/** The beginning of a message that is too long to show, with how to read on. */
function begun(message: DialogueMessage, mostChars: number): DialogueMessage {
  const shown = prefix(message.content, mostChars);
  const read = `read on with read_output {"callId":"${message.id}","offset":${shown.length}}`;
  return {
    ...message,
    content: `${shown}\n[cut at ${shown.length} of ${message.content.length} characters of this message; ${read}]`,
  };
}

/** Kept with its message, so that the same history object gives the same request objects. */
const made = new WeakMap<DialogueMessage, ModelMessage[]>();

function saidAs(message: DialogueMessage, calls: CallsById, shown: ShownChars): ModelMessage[] {
  if (
    message.call_ids.length > 0 &&
    (shown.output < SHOWN_OUTPUT_CHARS || message.call_ids.some((id) => shown.brief?.has(id)))
  )
    return modelMessages(message, calls, shown);
  const known = made.get(message);
  if (known) return known;
  const out = modelMessages(message, calls, WHOLE);
  made.set(message, out);
  return out;
}

function modelMessages(message: DialogueMessage, calls: CallsById, { output, brief }: ShownChars): ModelMessage[] {
  if (message.role === 'user') return [{ role: 'user', content: message.content }];
  // a program told the person this: the words are of an agent or a tool, not of the assistant
  if (message.sources?.length)
    return [{ role: 'user', content: note('a report that the person was sent', message.content) }];
  const made = message.call_ids.flatMap((id) => calls.get(id) ?? []);
  // the state has fields of calls by their position, so it belongs to all of them or to none
  const state = made.length === message.call_ids.length ? message.state : null;
  return [
    {
      role: 'assistant',
      content: message.content,
      ...(made.length > 0 && {
        calls: made.map((call) => ({ id: call.id, name: call.name, arguments: JSON.stringify(call.args) })),
      }),
      ...(state && { state }),
    },
    ...made.map(
      (call): ModelMessage => ({
        role: 'tool',
        callId: call.id,
        content: shownOutput(call, brief?.has(call.id) ? BRIEF : output),
      }),
    ),
  ];
}

/**
 * A part of the dialogue as text to be summed up. What each person said is quoted, so that it cannot pass for the words
 * of another.
 */
export const dialogueText = (
  messages: readonly DialogueMessage[],
  calls: CallsById,
  files: ReadonlyMap<string, FileShown>,
): string =>
  messages
    .map((message) =>
      [speaker(message), quotation(withFiles(message, files)), ...callTexts(message.call_ids, calls)].join('\n'),
    )
    .join('\n\n');

const speaker = ({ role, sources }: DialogueMessage): string =>
  role === 'user'
    ? 'The person, or those who write in this chat:'
    : sources?.length
      ? 'A report that the person was sent:'
      : 'You:';

const withFiles = ({ content, attachment_ids = [] }: DialogueMessage, files: ReadonlyMap<string, FileShown>): string =>
  withDocuments(
    content,
    attachment_ids.flatMap((id) => files.get(id) ?? []),
  );

const callTexts = (ids: readonly string[], calls: CallsById): string[] =>
  ids
    .flatMap((id) => calls.get(id) ?? [])
    .map(
      (call) =>
        `The tool ${call.name} ${JSON.stringify(call.args)} answered:\n${quotation(prefix(shownOutput(call), 2000))}`,
    );

const weight = (message: DialogueMessage, calls: CallsById, shown: ShownChars): number =>
  message.tokens -
  Math.ceil(Math.max(0, message.content.length - shown.message) / 4) +
  message.call_ids.reduce(
    (sum, id) => sum + Math.ceil(Math.min(calls.get(id)?.output?.length ?? 0, shown.output) / 4) + 20,
    0,
  );

/**
 * Where to cut the history so that the rest fits half the budget: the `ord` of the last message to sum up, or null when
 * everything fits. The cut is before a user message, so that the steps of a turn stay together. The newest message
 * always stays.
 */
export function compactionPoint(
  messages: readonly DialogueMessage[],
  calls: CallsById,
  budgetTokens: number,
  shown?: ShownChars,
): number | null {
  const chars = shown ?? shownWithin({ history: budgetTokens, room: Number.POSITIVE_INFINITY });
  const total = messages.reduce((sum, message) => sum + weight(message, calls, chars), 0);
  if (total <= budgetTokens) return null;
  let kept = 0;
  let point: number | null = null;
  for (let index = messages.length - 1; index > 0; index--) {
    const message = messages[index]!;
    kept += weight(message, calls, chars);
    if (kept > budgetTokens / 2 && point !== null) break;
    if (message.role === 'user') point = messages[index - 1]!.ord;
  }
  return point;
}
