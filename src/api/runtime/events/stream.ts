import { z } from 'zod';
import type { EventEnvelope, ItemRecord, ThreadRecord, TurnRecord } from '../../../contracts/records.ts';
import { chatKey } from '../../../store/chats/ids.ts';
import { readEvents } from '../../../store/chats/threads/events.ts';
import { createThread } from '../../../store/chats/threads/threads.ts';
import { requestKey } from '../../http/request.ts';
import { streamTurnRequest } from '../shared/bodies.ts';
import { endpoint, type RuntimeDeps } from '../shared/endpoint.ts';
import { newApiThread } from '../threads/threads.ts';
import { requiredText } from '../turns/turns.ts';
import { follow, KEEPALIVE, sendEvents } from './events.ts';

/** A frame of the compatibility stream. */
interface Frame {
  event: string;
  data: unknown;
}

const TOOLS: ReadonlySet<string> = new Set(['tool_call', 'file_change', 'command_execution']);
/** Passed on as they are: the client that reads the stream may answer. */
const PASSED_ON = /^(approval\.(required|decided|timeout)|sandbox\.denied|user_input\.(required|answered|canceled))$/;

/** An event of a turn as the compatibility stream tells it; null for what it leaves out, such as thoughts. */
function frameOf({ event, payload }: EventEnvelope): Frame | null {
  if (PASSED_ON.test(event)) return { event, data: payload };
  const { item, tool, delta, kind, turn } = payload as {
    item?: ItemRecord;
    tool?: object;
    delta?: string;
    kind?: string;
    turn?: TurnRecord;
  };
  if (event === 'turn.completed') return { event, data: { usage: turn!.usage ?? null } };
  if (event === 'item.delta') return deltaFrame(kind!, delta!);
  if (event === 'item.started') return tool ? { event: 'tool.started', data: tool } : null;
  return (event === 'item.completed' || event === 'item.failed') && item ? endFrame(event, item) : null;
}

function deltaFrame(kind: string, delta: string): Frame | null {
  if (kind === 'agent_message') return { event: 'message.delta', data: { content: delta } };
  return kind === 'tool_call' ? { event: 'tool.progress', data: { output: delta } } : null;
}

function endFrame(event: string, { id, kind, detail, summary }: ItemRecord): Frame | null {
  const text = detail ?? summary;
  if (TOOLS.has(kind))
    return { event: 'tool.completed', data: { id, success: event === 'item.completed', output: text } };
  return kind === 'status' || kind === 'error' ? { event: kind, data: { message: text } } : null;
}

/** Events that are read at once. */
const BATCH = 256;

/**
 * A turn in a thread of its own, which is archived. The turn goes on when the client leaves: its thread has the answer.
 */
export const postStream = endpoint({
  method: 'POST',
  path: '/v1/stream',
  summary: 'Start a turn in a new, archived thread, and follow it until its end',
  body: streamTurnRequest,
  answer: {
    written: { type: 'text/event-stream', schema: z.record(z.string(), z.unknown()) },
    what: 'What happens in the turn; `done` is last. The same for the same Idempotency-Key.',
  },
  handle: async ({ ctx, body }, deps) => {
    const prompt = requiredText(body.prompt, 'prompt');
    const { store, config, chatSecret } = deps;
    const thread = await createThread(store.db, {
      ...newApiThread(config, { ...body, archived: true }),
      chatKey: (address) => chatKey(chatSecret ?? '', 'api', address),
      key: requestKey(ctx, 'stream', body),
    });
    const { turn } = await deps.intake.startTurn({
      threadId: thread.id,
      prompt,
      channelMessageId: requestKey(ctx, 'stream', body),
    });
    sendEvents(ctx, deps, (signal) => frames(deps, thread, turn, signal));
  },
});

async function* frames(
  deps: RuntimeDeps,
  thread: ThreadRecord,
  turn: TurnRecord,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { id, model, mode, workspace } = thread;
  yield written({ event: 'turn.started', data: { thread_id: id, turn_id: turn.id, model, mode, workspace } });
  const read = async (cursor: number) => {
    const events = await readEvents(deps.store.db, id, cursor, BATCH);
    return events.length > 0 ? { part: events, cursor: events.at(-1)!.seq, more: events.length === BATCH } : null;
  };
  for await (const events of follow(deps, { threadId: id, cursor: 0, signal }, read)) {
    if (!events) yield KEEPALIVE;
    for (const event of events ?? []) {
      if (event.turn_id !== turn.id) continue;
      const frame = frameOf(event);
      if (frame) yield written(frame);
      if (isEnd(event)) return yield written({ event: 'done', data: {} });
    }
  }
}

const isEnd = ({ event }: EventEnvelope): boolean => event === 'turn.completed';
const written = ({ event, data }: Frame): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
