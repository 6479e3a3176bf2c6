import { sql } from 'kysely';
import { prefix, wholePairs } from '../../../domain/text/storable.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import { deltaEvent } from '../../chats/threads/items.ts';
import { type Db, json } from '../../postgres/database.ts';

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

/**
 * What a call is about to do, recorded before it does it, so that an attempt after a crash can tell its own work from
 * what was there before. It is stored in the call's metadata, which the result replaces.
 */
export async function noteIntent(db: Db, callId: string, intent: Record<string, unknown>): Promise<void> {
  await db
    .updateTable('calls')
    // the metadata also has what an approval showed
    .set({ metadata: sql<string>`coalesce(metadata, '{}'::jsonb) || ${json({ intent })}::jsonb` })
    .where('id', '=', callId)
    .where('state', '!=', 'done')
    .execute();
}

export async function intentOf(db: Db, callId: string): Promise<Record<string, unknown> | null> {
  const call = await db
    .selectFrom('calls')
    .select('metadata')
    .where('id', '=', callId)
    .where('state', '!=', 'done')
    .executeTakeFirst();
  return (call?.metadata?.intent as Record<string, unknown> | undefined) ?? null;
}
