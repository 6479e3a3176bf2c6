import type { FinishInput } from '../contracts/conversation.ts';
import { outboxId } from '../contracts/ids.ts';
import { settleCall } from './calls.ts';
import type { Db } from './database.ts';
import { lockThread } from './events.ts';
import { addItem } from './items.ts';
import { derivedId } from './keys.ts';
import { closeTurn } from './turns.ts';

/** Ends a turn that did not end with an answer and says why; null when it had ended already. What was done is kept. */
export async function finishTurn(db: Db, input: FinishInput): Promise<string | null> {
  const { turnId, threadId, status, failure } = input;
  return await db.transaction().execute(async (tx) => {
    await lockThread(tx, threadId);
    const turn = await tx.selectFrom('turns').select('status').where('id', '=', turnId).executeTakeFirst();
    const out = outboxId(turnId, status);
    if (turn?.status !== 'in_progress') {
      // a retry of this very step: its outbox row is there and may still have to be sent
      const known = await tx.selectFrom('outbox').select('id').where('id', '=', out).where('state', '=', 'queued').executeTakeFirst();
      return known?.id ?? null;
    }
    const calls = await tx
      .selectFrom('calls')
      .select(['id', 'name', 'state', 'ok'])
      .where('turn_id', '=', turnId)
      .orderBy('step')
      .orderBy('position')
      .execute();
    const done = calls.filter((call) => call.state === 'done' && call.ok).map((call) => call.name);
    const kept = done.length > 0 ? ` Done before that and kept: ${done.join(', ')}.` : '';
    const body = status === 'interrupted' ? `Stopped.${kept}` : `${failure?.message ?? 'Something went wrong.'}${kept}`;
    await addItem(
      tx,
      status === 'interrupted'
        ? {
            id: derivedId('item_', turnId, 'end'),
            turnId,
            threadId,
            kind: 'status',
            status: 'completed',
            summary: 'Request cancelled',
            detail: 'Request cancelled',
          }
        : {
            id: derivedId('item_', turnId, 'end'),
            turnId,
            threadId,
            kind: 'error',
            status: 'failed',
            summary: failure?.message ?? '',
            detail: failure?.message ?? '',
          },
    );
    for (const call of calls) {
      if (call.state !== 'done') {
        const output = call.state === 'running' ? 'Stopped while it ran: its outcome is unknown.' : 'Not run: the turn was stopped before.';
        await settleCall(tx, call.id, { ok: false, output });
      }
    }
    const { chat_id } = await tx.selectFrom('threads').select('chat_id').where('id', '=', threadId).executeTakeFirstOrThrow();
    await tx.insertInto('outbox').values({ id: out, chat_id, thread_id: threadId, turn_id: turnId, kind: 'notice', body }).execute();
    await tx
      .insertInto('transcript')
      .values({
        id: derivedId('msg_', turnId, 'end'),
        thread_id: threadId,
        turn_id: turnId,
        role: 'assistant',
        content: `[${body}]`,
        call_ids: '[]',
        tokens: Math.ceil(body.length / 4) + 4,
      })
      .execute();
    await closeTurn(tx, turnId, status, status === 'failed' ? failure?.message : undefined);
    return out;
  });
}
