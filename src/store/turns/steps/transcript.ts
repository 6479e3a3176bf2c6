import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { stepKey } from '../../../contracts/ids.ts';
import type { StepState } from '../../../contracts/model.ts';
import type { Source } from '../../../contracts/taint.ts';
import {
  type Called,
  type CallsById,
  type DialogueMessage,
  SHOWN_OUTPUT_CHARS,
} from '../../../domain/chat/context/context.ts';
import type { FileShown } from '../../../domain/text/files.ts';
import { derivedId, isOrWas, roughTokens } from '../../chats/ids.ts';
import { shownFiles } from '../../chats/messages/attachments.ts';
import type { WriteBatch } from '../../chats/write-batch.ts';
import { compiled } from '../../postgres/compiled-query.ts';
import { type Db, json, perDatabase, type Tx } from '../../postgres/database.ts';

export interface History {
  /** the summary of everything older, or null */
  summary: string | null;
  /** sources of the summary */
  sources: readonly Source[];
  upto: number;
  messages: DialogueMessage[];
  /** the first message of the turn that is in progress */
  openFrom: number | null;
  calls: CallsById;
  /** files that came with these messages, and pictures that tools made */
  files: Map<string, FileShown>;
}

interface Read {
  /** null as well when it is the known one */
  summary: string | null;
  sources: Source[] | null;
  upto: number;
  /** the first message of the turn that is in progress */
  open_from: number | null;
  messages: DialogueMessage[];
  calls: Called[];
  attached: Record<string, string[]>;
}

/** Whether nothing was said in a thread since its conversation began. */
export async function isBlank(db: Db | Tx, threadId: string): Promise<boolean> {
  const begun = sql<number>`coalesce((select max(upto) from summaries where thread_id = ${threadId} and body = ''), 0)`;
  const said = await db
    .selectFrom('transcript')
    .select('ord')
    .where('thread_id', '=', threadId)
    .where('ord', '>', begun)
    .limit(1)
    .executeTakeFirst();
  return said === undefined;
}

/** A summary from before sources were recorded may contain anything. */
const UNKNOWN_SOURCES = '[{"kind": "unknown", "label": "an earlier summary"}]';

const readFrom = compiled(
  'read_dialogue',
  (_, threadId: string, last: number, upto: number) => sql<Read>`
    with last as (select upto, body, coalesce(sources, ${UNKNOWN_SOURCES}::jsonb) as sources from summaries where thread_id = ${threadId} order by upto desc limit 1),
      said as (
        select id, ord, turn_id, role, content, call_ids, attachment_ids, sources, words, tokens, step_state from transcript
        where thread_id = ${threadId} and ord > greatest(coalesce((select upto from last), 0), ${last}::bigint))
    select (select body from last where upto <> ${upto}::bigint) as summary, (select sources from last) as sources, coalesce((select upto from last), 0) as upto,
      (select min(ord) from said where turn_id = (select id from turns where thread_id = ${threadId} and status = 'in_progress')) as open_from,
      (select coalesce(json_agg(json_build_object('id', id, 'ord', ord, 'role', role, 'content', content, 'call_ids', call_ids, 'sources', sources, 'words', words, 'tokens', tokens,
          'state', step_state) order by ord), '[]')
        from said) as messages,
      (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'args', args, 'state', state,
          'output', left(output, ${SHOWN_OUTPUT_CHARS + 1}), 'size', length(output), 'sources', sources,
          'picture', case when metadata->>'mime' like 'image/%' then metadata->>'attachment' end)), '[]')
        from calls where turn_id = any(array(select distinct turn_id from said where call_ids <> '[]'))) as calls,
      (select coalesce(json_object_agg(ord, attachment_ids), '{}') from said where attachment_ids <> '[]') as attached`,
);

/**
 * The dialogue of a thread since its last summary, with its calls. It is one statement, so that all is of one moment,
 * and returns JSON, because the engine's parser is faster than reading column by column.
 *
 * Finished turns are read once. Whatever changes a message draws a new `ord`, and does so only while its turn is in
 * progress (`amendInput`, `storeAnswer`,
 * `finishTurn`). New messages come last, because they are added under the thread's lock. So messages before those of
 * the turn in progress never change.
 */
export async function loadHistory(db: Db, threadId: string): Promise<History> {
  const cache = dialogueCache(db);
  const known = cache.get(threadId);
  const { rows } = await db.executeQuery(readFrom(threadId, known.last, known.upto));
  const read = rows[0]!;
  for (const message of read.messages)
    if (read.attached[message.ord]) message.attachment_ids = read.attached[message.ord];
  const before = read.upto === known.upto ? known : summedUp(known, read);
  const fresh = new Map(read.calls.map((call) => [call.id, call]));
  cache.put(threadId, grown(before, read, fresh), known);
  const messages = [...before.messages, ...read.messages];
  const calls: CallsById = { get: (id) => fresh.get(id) ?? before.calls.get(id) };
  const shown = messages.map((message) => filesOf(message, calls)).filter((ids) => ids.length > 0);
  const files = await shownFiles(db, shown);
  const { summary } = before;
  const openFrom = read.open_from;
  return { summary, sources: read.sources ?? [], upto: read.upto, openFrom, messages, calls, files };
}

const NO_FILES: readonly string[] = [];

/** Files that came with a message, and pictures that its calls made. */
function filesOf({ attachment_ids = NO_FILES, call_ids }: DialogueMessage, calls: CallsById): readonly string[] {
  return call_ids.some((id) => calls.get(id)?.picture)
    ? [...attachment_ids, ...call_ids.flatMap((id) => calls.get(id)?.picture ?? [])]
    : attachment_ids;
}

/** The part of a cached dialogue that is left after more of it was summed up. */
function summedUp(known: Settled, { summary, upto }: Read): Settled {
  const messages = known.messages.filter((message) => message.ord > upto);
  const calls = new Map(messages.flatMap((message) => callsOf(message, known.calls)).map((call) => [call.id, call]));
  const bytes = messages.reduce(
    (sum, message) => sum + bytesOf(message, callsOf(message, calls)),
    summary?.length ?? 0,
  );
  return { summary, upto, last: Math.max(known.last, upto), messages, calls, bytes };
}

/** The same with the part that was read of finished turns, up to a call that has not ended. */
function grown(before: Settled, read: Read, calls: ReadonlyMap<string, Called>): Settled {
  const over = read.messages.filter((message) => read.open_from === null || message.ord < read.open_from);
  const unsure = over.findIndex((message) => callsOf(message, calls).some((call) => call.state !== 'done'));
  const settled = unsure < 0 ? over : over.slice(0, unsure);
  if (settled.length === 0) return before;
  let { bytes } = before;
  const known = bytes === 0 ? new Map<string, Called>() : before.calls;
  for (const message of settled) {
    const made = callsOf(message, calls);
    bytes += bytesOf(message, made);
    for (const call of made) known.set(call.id, call);
  }
  return { ...before, last: settled.at(-1)!.ord, messages: [...before.messages, ...settled], calls: known, bytes };
}

const callsOf = (message: DialogueMessage, calls: ReadonlyMap<string, Called>): Called[] =>
  message.call_ids.flatMap((id) => calls.get(id) ?? []);

/** The whole text of a message of this chat; undefined when there is no such message here. */
export const messageOfChat = (db: Db, chatId: string, id: string): Promise<{ content: string } | undefined> =>
  db
    .selectFrom('transcript')
    .innerJoin('threads', 'threads.id', 'transcript.thread_id')
    .select('transcript.content')
    .where(isOrWas('transcript', id))
    .where('threads.chat_id', '=', chatId)
    .executeTakeFirst();

/** What the model said in a step, beside its calls; null when it said nothing. */
export async function saidInStep(db: Db | Tx, turnId: string, step: number): Promise<string | null> {
  const id = derivedId('msg_', stepKey(turnId, step));
  return (await db.selectFrom('transcript').select('content').where('id', '=', id).executeTakeFirst())?.content || null;
}

/** Adds a summary of everything up to `upto`; the log itself stays. */
export async function addSummary(
  db: Db | Tx,
  threadId: string,
  upto: number,
  body: string,
  sources: readonly Source[],
): Promise<void> {
  await db
    .insertInto('summaries')
    .values({ id: `${threadId}/${upto}`, thread_id: threadId, upto, body, sources: json(sources) })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
}

/** The sources of a message, when it is not all the person's words. */
export interface Heard {
  sources?: readonly Source[];
  /** what of it the person wrote */
  words?: string;
}

/**
 * Most bytes of a step's state. A step with more is stored without it, and is later sent as the step of another model.
 */
const MOST_STATE_BYTES = 256 * 1024;

/** Not through `json`, which mends texts: a signature covers every character. */
function storableState(state: StepState): string | null {
  const text = JSON.stringify(state);
  return Buffer.byteLength(text) <= MOST_STATE_BYTES ? text : null;
}

/** Adds a message to what the model reads. A second call with the same id changes nothing. */
export function remember(
  batch: WriteBatch,
  said: {
    id: string;
    turnId: string;
    role: 'user' | 'assistant';
    content: string;
    callIds?: string[];
    state?: StepState | undefined;
    ord?: number;
  } & Heard,
): void {
  const state = said.state ? storableState(said.state) : null;
  batch.later((db) =>
    db
      .insertInto('transcript')
      .values({
        ...(said.ord !== undefined && { ord: said.ord }),
        id: said.id,
        thread_id: batch.threadId,
        turn_id: said.turnId,
        role: said.role,
        content: said.content,
        call_ids: json(said.callIds ?? []),
        sources: json(said.sources ?? []),
        words: said.words ?? null,
        tokens: roughTokens(said.content + (state ?? '')),
        step_state: state,
      })
      .onConflict((c) => c.column('id').doNothing()),
  );
}

/**
 * The part of a thread's dialogue that can no longer change: messages of finished turns, since the last summary. Never
 * changed, except that `calls` grows.
 */
interface Settled {
  summary: string | null;
  /** everything up to this `ord` is in the summary */
  upto: number;
  /** the `ord` up to which the store was read; 0: nothing is known */
  last: number;
  messages: readonly DialogueMessage[];
  calls: Map<string, Called>;
  bytes: number;
}

const UNKNOWN: Settled = { summary: null, upto: 0, last: 0, messages: [], calls: new Map(), bytes: 0 };

/** Memory that a process may use for dialogues, as `bytesOf` counts it. */
const LIMIT = 32 * 2 ** 20;

/** Size of a message or a call besides its text, with what is built of it for a request. */
const OBJECT = 700;

/** Rough memory of a message and its calls, whose text is kept as it is and as JSON. */
const bytesOf = (message: DialogueMessage, calls: readonly Called[]): number =>
  OBJECT +
  message.content.length * 2 +
  (message.state ? JSON.stringify(message.state).length * 2 : 0) +
  calls.reduce((sum, call) => sum + OBJECT + (call.output?.length ?? 0) * 2 + JSON.stringify(call.args).length * 2, 0);

/** The most recently used dialogues, up to a number of bytes. */
class DialogueCache {
  readonly #threads = new LRUCache<string, Settled>({ maxSize: LIMIT, sizeCalculation: ({ bytes }) => bytes });

  get(threadId: string): Settled {
    return this.#threads.get(threadId) ?? UNKNOWN;
  }

  /** `from`: the dialogue that it extends. If another reader was faster, that reader's stays. */
  put(threadId: string, settled: Settled, from: Settled): void {
    if (settled.bytes > 0 && this.get(threadId) === from) this.#threads.set(threadId, settled);
  }
}

const dialogueCache = perDatabase(() => new DialogueCache());
