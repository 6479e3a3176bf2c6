import { PRIMED_SINCE } from '../../../adapters/mcp/serving/protocol.ts';
import type { EventEnvelope } from '../../../contracts/records.ts';
import { latestSeq, readEvents } from '../../../store/chats/threads/events.ts';
import { decisionOf } from '../../../store/turns/questions/questions.ts';
import { type Batch, follow } from '../events/events.ts';
import type { RuntimeDeps } from '../shared/endpoint.ts';
import { type AskedPayload, formOf, textOf } from './forms.ts';
import { resultOf, stillWaits } from './results.ts';
import { cursorId, type ProgramSession, type StreamCursor } from './wire.ts';

const BATCH = 256;
/** Clients that come back only a few times find the API there again. */
const RETRY_MS = 3_000;
const ASKS: ReadonlySet<string> = new Set(['approval.required', 'user_input.required']);
const TELLS = /^item\.(started|completed|failed)$/;

/** One stream of a call: where it is, and when it began. */
interface CallStream {
  deps: RuntimeDeps;
  session: ProgramSession;
  cursor: StreamCursor;
  begunAt: number;
}

/**
 * The answer to a call, as server-sent events: progress, questions, at the end the result. All of it is read from the
 * store, so a client whose stream broke goes on after the last event that it has, at any process.
 */
export async function* callStream(
  deps: RuntimeDeps,
  session: ProgramSession,
  at: StreamCursor,
  version: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { db } = deps.store;
  // a cursor beyond the end belongs to the time before a restore
  const cursor = { ...at, seq: Math.min(at.seq, await latestSeq(db, at.threadId)) };
  const stream: CallStream = { deps, session, cursor, begunAt: Date.now() };
  yield version >= PRIMED_SINCE ? `id: ${cursorId(cursor)}\nretry: ${RETRY_MS}\ndata: \n\n` : ': begun\n\n';
  // the end may lie before the cursor
  const over = await resultOf(db, at.turnId);
  if (over) return yield answer(stream, over);
  for await (const events of follow(deps, { threadId: at.threadId, cursor: cursor.seq, signal }, (seq) =>
    readBatch(deps, at.threadId, seq),
  )) {
    // a client that shows progress sees that the call is alive; some give up a call after a minute without a sign
    if (!events) yield progress(stream, 'working') ?? ': working\n\n';
    for (const event of events ?? []) {
      cursor.seq = event.seq;
      const told = await toldOf(stream, event);
      if (told) yield told.frame;
      if (told?.last) return;
    }
  }
}

async function readBatch(
  { store }: RuntimeDeps,
  threadId: string,
  seq: number,
): Promise<Batch<EventEnvelope[]> | null> {
  const part = await readEvents(store.db, threadId, seq, BATCH);
  const last = part.at(-1);
  return last ? { part, cursor: last.seq, more: part.length === BATCH } : null;
}

/** The notification for an event of the thread. `last`: the call is answered. */
async function toldOf(
  stream: CallStream,
  { event, turn_id, payload }: EventEnvelope,
): Promise<{ frame: string; last?: true } | null> {
  const { deps, session, cursor } = stream;
  if (turn_id !== cursor.turnId) return null;
  if (event === 'turn.completed')
    return { frame: answer(stream, await resultOf(deps.store.db, cursor.turnId)), last: true };
  if (ASKS.has(event)) {
    const asked = payload as unknown as AskedPayload;
    if ((await decisionOf(deps.store.db, asked.id)) !== null) return null;
    if (session.forms) return { frame: frame(stream, formOf(asked)) };
    return { frame: answer(stream, stillWaits({ ...cursor, id: asked.id, text: textOf(asked) })), last: true };
  }
  if (!TELLS.test(event)) return null;
  const { summary } = (payload.item ?? {}) as { summary?: string };
  const told = progress(stream, summary?.split('\n')[0] ?? '');
  return told ? { frame: told } : null;
}

const frame = ({ cursor }: CallStream, message: object): string =>
  `event: message\nid: ${cursorId(cursor)}\ndata: ${JSON.stringify(message)}\n\n`;

const answer = (stream: CallStream, result: object | null): string =>
  frame(stream, { jsonrpc: '2.0', id: stream.cursor.requestId, result: result ?? {} });

/** Seconds since this stream began; null when nobody asked for progress. */
function progress(stream: CallStream, message: string): string | null {
  const { progressToken, seq } = stream.cursor;
  if (progressToken === undefined) return null;
  // it has to grow, also when a stream goes on elsewhere
  const grown = seq + (Date.now() - stream.begunAt) / 1e7;
  return frame(stream, {
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken, progress: grown, message: message.slice(0, 200) },
  });
}
