import { PRIMED_SINCE } from '../../../adapters/mcp/serving/protocol.ts';
import { type EventText, latestSeq, readEventTexts } from '../../../store/chats/events.ts';
import { decisionOf } from '../../../store/questions/questions.ts';
import type { RuntimeDeps } from '../endpoint.ts';
import type { Wakeup } from '../wakeups.ts';
import { type AskedPayload, formOf, textOf } from './forms.ts';
import { resultOf, stillWaits } from './results.ts';
import { cursorId, type ProgramSession, type StreamCursor } from './session-id.ts';

const BATCH = 256;
/** A client that shows progress sees that the call is alive. Some give up a call after a minute without a sign. */
const BEAT_MS = 5_000;
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
 * The answer to a call, as server-sent events: progress, questions, at the end the result. All of it is read from the store, so a client whose stream broke goes
 * on after the last event that it has, at any process.
 */
export async function* callStream(deps: RuntimeDeps, session: ProgramSession, at: StreamCursor, version: string, signal: AbortSignal): AsyncGenerator<string> {
  const stream: CallStream = { deps, session, cursor: { ...at }, begunAt: Date.now() };
  const wakeup = deps.wakeups.subscribe(at.threadId);
  try {
    yield version >= PRIMED_SINCE ? `id: ${cursorId(at)}\nretry: ${RETRY_MS}\ndata: \n\n` : ': begun\n\n';
    // a cursor beyond the end belongs to the time before a restore
    stream.cursor.seq = Math.min(at.seq, await latestSeq(deps.store.db, at.threadId));
    // the end may lie before the cursor
    const over = await resultOf(deps.store.db, at.turnId);
    if (over) return yield answer(stream, over);
    yield* follow(stream, wakeup, signal);
  } finally {
    wakeup.close();
  }
}

async function* follow(stream: CallStream, wakeup: Wakeup, signal: AbortSignal): AsyncGenerator<string> {
  const { deps, cursor } = stream;
  while (!signal.aborted) {
    wakeup.arm();
    const events = await read(deps, cursor);
    for (const event of events) {
      cursor.seq = event.seq;
      const told = await toldOf(stream, event);
      if (told) yield told.frame;
      if (told?.last) return;
    }
    if (events.length === BATCH) continue;
    yield progress(stream, 'working') ?? ': working\n\n';
    await wakeup.wait(BEAT_MS, signal);
  }
}

/** A short outage of the database must not end a call: the log is still there afterwards. */
async function read({ store, log }: RuntimeDeps, { threadId, seq }: StreamCursor): Promise<EventText[]> {
  try {
    return await readEventTexts(store.db, threadId, seq, BATCH);
  } catch (error) {
    log?.warn({ err: error }, 'events of a call could not be read; trying again');
    return [];
  }
}

/** What the client is told of an event of the thread. `last`: the call is answered. */
async function toldOf(stream: CallStream, { event, text }: EventText): Promise<{ frame: string; last?: true } | null> {
  if (event !== 'turn.completed' && !ASKS.has(event) && !TELLS.test(event)) return null;
  const { turn_id, payload } = JSON.parse(text) as { turn_id: string | null; payload: Record<string, unknown> };
  const { deps, session, cursor } = stream;
  if (turn_id !== cursor.turnId) return null;
  if (event === 'turn.completed') return { frame: answer(stream, await resultOf(deps.store.db, cursor.turnId)), last: true };
  if (ASKS.has(event)) {
    const asked = payload as unknown as AskedPayload;
    if ((await decisionOf(deps.store.db, asked.id)) !== null) return null;
    if (session.forms) return { frame: frame(stream, formOf(asked)) };
    return { frame: answer(stream, stillWaits({ ...cursor, id: asked.id, text: textOf(asked) })), last: true };
  }
  const { summary } = (payload.item ?? {}) as { summary?: string };
  const told = progress(stream, summary?.split('\n')[0] ?? '');
  return told ? { frame: told } : null;
}

const frame = ({ cursor }: CallStream, message: object): string => `event: message\nid: ${cursorId(cursor)}\ndata: ${JSON.stringify(message)}\n\n`;

const answer = (stream: CallStream, result: object | null): string => frame(stream, { jsonrpc: '2.0', id: stream.cursor.requestId, result: result ?? {} });

/** Seconds since this stream began; null when nobody asked for progress. */
function progress(stream: CallStream, message: string): string | null {
  const { progressToken, seq } = stream.cursor;
  if (progressToken === undefined) return null;
  // it has to grow, also when a stream goes on elsewhere
  const grown = seq + (Date.now() - stream.begunAt) / 1e7;
  return frame(stream, { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: grown, message: message.slice(0, 200) } });
}
