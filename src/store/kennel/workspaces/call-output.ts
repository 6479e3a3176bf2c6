import { prefix, wholePairs } from '../../../domain/text/storable.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import { deltaEvent } from '../../chats/threads/items.ts';
import type { Db } from '../../postgres/database.ts';

/** Characters of a call's output that are streamed; the result has all of it. */
const STREAMED_CHARS = 64_000;
const FLUSH_MS = 500;

interface CallOutput {
  push(text: string): void;
  /** sends what is pending and ends; never throws, because a call is worth more than its streamed output */
  close(): Promise<void>;
}

/** Streams the output of a running call to the screens of its thread, as `item.delta` of the call's item. */
export function streamOutput(db: Db, call: { callId: string; threadId: string; turnId: string }): CallOutput {
  let waiting = '';
  let room = STREAMED_CHARS;
  let sending = Promise.resolve();
  let itemId: string | undefined;
  const flush = () => {
    const whole = wholePairs(waiting);
    const text = prefix(whole, Math.max(0, room));
    waiting = waiting.slice(whole.length);
    room -= text.length;
    if (text === '') return;
    sending = sending.then(() => send(text)).catch(() => {});
  };
  async function send(text: string): Promise<void> {
    itemId ??= (await db.selectFrom('calls').select('item_id').where('id', '=', call.callId).executeTakeFirst())
      ?.item_id;
    if (itemId === undefined) return;
    const event = deltaEvent({ id: itemId, turnId: call.turnId, kind: 'tool_call' }, text);
    await onThread(db, call.threadId, (tx) => tx.append(event));
  }
  const timer = setInterval(flush, FLUSH_MS);
  return {
    push: (text) => {
      // more than is ever sent need not be kept
      if (waiting.length < room) waiting += text;
    },
    async close() {
      clearInterval(timer);
      flush();
      await sending;
    },
  };
}
