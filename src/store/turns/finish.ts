import { sql } from 'kysely';
import type { Arrival, FinishInput } from '../../contracts/conversation.ts';
import { outboxId } from '../../contracts/ids.ts';
import { tellFailure } from '../../domain/model/failure-text.ts';
import { derivedId, steerMessageId } from '../chats/ids.ts';
import { receive } from '../chats/messages/inbox.ts';
import { sayTo } from '../chats/preferences.ts';
import { onThread, type ThreadTransaction } from '../chats/thread-transaction.ts';
import { addItem } from '../chats/threads/items.ts';
import type { Db } from '../postgres/database.ts';
import { settleCall } from './steps/calls.ts';
import { remember } from './steps/transcript.ts';
import { closeTurn, openTurn, turnState } from './turns.ts';

/** The output of a call that had no result when its turn ended. */
export const UNFINISHED = {
  running: 'Stopped while it ran: its outcome is unknown.',
  pending: 'Not run: the turn was stopped before.',
};

/** A reason that says by itself that nothing is lost, in English. */
const KEPT = /\bis kept\b/;

/** Ends a turn that did not end with an answer, and says why. Null when it had already ended. What was done is kept. */
export async function finishTurn(db: Db, input: FinishInput): Promise<string | null> {
  const { turnId, threadId, status, failure } = input;
  return await onThread(db, threadId, async (tx) => {
    const { now, chatId } = tx;
    const turn = await now.selectFrom('turns').select('status').where('id', '=', turnId).executeTakeFirst();
    const out = outboxId(turnId, status);
    if (turn?.status !== 'in_progress') {
      // a retry of this very activity: its outbox row exists and may still have to be sent
      const known = await now
        .selectFrom('outbox')
        .select('id')
        .where('id', '=', out)
        .where('state', '=', 'queued')
        .executeTakeFirst();
      return known?.id ?? null;
    }
    const calls = await now
      .selectFrom('calls')
      .select(['id', 'state', 'ok'])
      .where('turn_id', '=', turnId)
      .orderBy('step')
      .orderBy('position')
      .execute();
    const say = await sayTo(now, chatId);
    const told = failure ? tellFailure(failure, say) : '';
    const why = status === 'interrupted' ? say('end.stopped') : told || say('end.wrong');
    const isKept =
      calls.some((call) => call.state === 'done' && call.ok) && !(failure && KEPT.test(tellFailure(failure)));
    const body = isKept ? `${why} ${say('end.kept')}` : why;
    // before the line that says why, so that a client that stops reading there has seen every call end
    for (const { id, state } of calls)
      if (state !== 'done') await settleCall(tx, id, { ok: false, output: UNFINISHED[state] });
    await addItem(tx, { id: derivedId('item_', turnId, 'end'), turnId, threadId, ...lineOf(status, told) });
    await now
      .insertInto('outbox')
      .values({ id: out, chat_id: chatId, thread_id: threadId, turn_id: turnId, kind: 'notice', body })
      .execute();
    remember(tx, { id: derivedId('msg_', turnId, 'end'), turnId, role: 'assistant', content: `[${body}]` });
    await tx.sendPending();
    await closeTurn(tx, (await turnState(now, turnId))!, status, status === 'failed' ? told : undefined);
    // only one turn of a thread may be in progress
    await tx.sendPending();
    await carryOver(tx, { turnId, status });
    return out;
  });
}

/** The line that says why. */
const lineOf = (status: FinishInput['status'], told: string) =>
  status === 'interrupted'
    ? {
        kind: 'status' as const,
        status: 'completed' as const,
        summary: 'Request cancelled',
        detail: 'Request cancelled',
      }
    : { kind: 'error' as const, status: 'failed' as const, summary: told, detail: told };

/**
 * Messages that came while the turn was ending, and that no model step has read, become a turn of their own, so that
 * every acknowledged message is answered. After a stop, only messages written later count; earlier ones were stopped
 * too. The new turn's inbox row stays unsignalled, and the sweeper signals it.
 */
async function carryOver(
  tx: ThreadTransaction,
  ended: { turnId: string; status: FinishInput['status'] },
): Promise<void> {
  const { now, threadId } = tx;
  const rows = await now
    .selectFrom('inbox')
    .select(['id', 'arrival', 'body', 'received_at', 'written_by'])
    .where('turn_id', '=', ended.turnId)
    .where('consumed_at', 'is', null)
    .orderBy('received_at')
    .orderBy('id')
    .execute();
  const stop = rows.findLast((row) => (row.arrival as Arrival).kind === 'stop');
  const unread = rows.filter(
    (row) =>
      (row.arrival as Arrival).kind === 'steer' &&
      (ended.status === 'failed' || !stop || row.received_at > stop.received_at),
  );
  if (unread.length === 0) return;
  // the next turn has the same restrictions
  const before = await now
    .selectFrom('turns')
    .select(['mode', 'allow_shell'])
    .where('id', '=', ended.turnId)
    .executeTakeFirstOrThrow();
  const text = unread.map((row) => row.body).join('\n');
  const turn = openTurn(tx, { text, mode: before.mode, allowShell: before.allow_shell, unheard: true });
  // the turn first, then rows that name it
  await tx.sendPending();
  for (const row of unread) {
    // messages that the model has not read come last, so that it answers them
    await now
      .updateTable('transcript')
      .set({ ord: sql`nextval('transcript_ord_seq')`, turn_id: turn.id })
      .where('id', '=', steerMessageId(row.id))
      .execute();
    await now.updateTable('inbox').set({ consumed_at: new Date() }).where('id', '=', row.id).execute();
  }
  const inboxId = derivedId('msg_', ended.turnId, 'carried').replace('msg_', 'inb_');
  receive(tx, {
    id: inboxId,
    turnId: turn.id,
    key: { id: `carried over from ${ended.turnId}`, fingerprint: null },
    arrival: { kind: 'turn', inboxId, turnId: turn.id, threadId },
    body: '',
    // identities of everybody whose words it continues with
    writtenBy: unread.flatMap((row) => row.written_by ?? []),
  });
}

/** Figures of a finished turn for the log, without any text. Null while it runs or when it is gone. */
export async function endedTurn(db: Db, turnId: string) {
  const row = await db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select([
      'turns.status',
      'turns.thread_id',
      'turns.started_at',
      'turns.ended_at',
      'turns.usage',
      'turns.micro_usd',
      'chats.channel',
    ])
    .select((e) => [
      e
        .selectFrom('steps')
        .select(e.fn.countAll<number>().as('count'))
        .where('steps.turn_id', '=', turnId)
        .where('steps.step', '>', 0)
        .as('steps'),
      e.selectFrom('calls').select(e.fn.countAll<number>().as('count')).where('calls.turn_id', '=', turnId).as('calls'),
    ])
    .where('turns.id', '=', turnId)
    .executeTakeFirst();
  if (!row?.ended_at) return null;
  return {
    status: row.status,
    channel: row.channel,
    thread: row.thread_id,
    turn: turnId,
    steps: Number(row.steps ?? 0),
    calls: Number(row.calls ?? 0),
    tokens: (row.usage?.input_tokens ?? 0) + (row.usage?.output_tokens ?? 0),
    usd: row.micro_usd / 1_000_000,
    began: row.started_at ?? row.ended_at,
    ended: row.ended_at,
    seconds: Math.round((row.ended_at.getTime() - (row.started_at ?? row.ended_at).getTime()) / 100) / 10,
  };
}
