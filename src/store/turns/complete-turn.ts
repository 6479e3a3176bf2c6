import type { Source } from '../../contracts/taint.ts';
import type { Unasked } from '../../domain/chat/preferences.ts';
import { cut, derivedId } from '../chats/ids.ts';
import { onThread, type ThreadTransaction } from '../chats/thread-transaction.ts';
import { addItem } from '../chats/threads/items.ts';
import { latestThread } from '../chats/threads/threads.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { remember } from './steps/transcript.ts';
import { toTurnRecord, turnRecord } from './turns.ts';

/**
 * A message that no turn asked for (the result of a schedule): an outbox row and a complete turn, once for each outbox
 * id.
 */
export async function recordNotice(
  db: Db,
  notice: {
    chatId: string;
    outboxId: string;
    text: string;
    kind: 'result' | 'notice';
    /** others whose text is part of it */
    sources?: readonly Source[];
    /** it may wait for the end of quiet hours */
    unasked?: Unasked | undefined;
    /** it has words of others that the person did not ask for, so the model does not read it */
    unheard?: boolean | undefined;
  },
): Promise<void> {
  const { chatId, text, sources = [] } = notice;
  const thread = await latestThread(db, chatId);
  const turnId = derivedId('msg_', notice.outboxId).replace('msg_', 'turn_');
  const send = async (on: Db | Tx): Promise<boolean> => {
    const row = {
      id: notice.outboxId,
      chat_id: chatId,
      thread_id: thread?.id ?? null,
      turn_id: thread ? turnId : null,
      kind: notice.kind,
      unasked: notice.unasked ?? null,
      body: text,
    };
    const added = on
      .insertInto('outbox')
      .values(row)
      .onConflict((c) => c.column('id').doNothing());
    return (await added.returning('id').executeTakeFirst()) !== undefined;
  };
  if (!thread) return void (await send(db));
  const threadId = thread.id;
  await onThread(db, threadId, async (tx) => {
    if (!(await send(tx.now))) return;
    await addCompleteTurn(tx, { id: turnId, summary: text }, async () => {
      const id = derivedId('item_', notice.outboxId);
      await addItem(tx, {
        id,
        turnId,
        threadId,
        kind: 'agent_message',
        status: 'completed',
        summary: text,
        detail: text,
      });
      if (!notice.unheard)
        remember(tx, { id: derivedId('msg_', notice.outboxId), turnId, role: 'assistant', content: text, sources });
    });
  });
}

/** A turn that is complete from the start, so it may exist beside a running one. `fill` adds its items. */
export async function addCompleteTurn(
  tx: ThreadTransaction,
  turn: { id: string; summary: string },
  fill: () => Promise<void>,
): Promise<void> {
  const now = new Date();
  const row = await tx.now
    .insertInto('turns')
    .values({
      id: turn.id,
      thread_id: tx.threadId,
      status: 'completed',
      input_summary: cut(turn.summary, 280),
      started_at: now,
      ended_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  tx.append({ event: 'turn.started', turnId: turn.id, payload: { turn: turnRecord(row, []) } });
  tx.later((db) =>
    db
      .updateTable('threads')
      .set({ deleted_at: null })
      .where('id', '=', tx.threadId)
      .where('deleted_at', 'is not', null),
  );
  await fill();
  await tx.sendPending();
  tx.append({ event: 'turn.completed', turnId: turn.id, payload: { turn: await toTurnRecord(tx.now, row) } });
}
