import { sql } from 'kysely';
import { capabilitiesOf } from '../../../contracts/channels.ts';
import type { Channel } from '../../../contracts/ids.ts';
import type { Db, Tx } from '../../postgres/database.ts';

export const findOutgoing = (db: Db, id: string) =>
  db
    .selectFrom('outbox')
    .innerJoin('chats', 'chats.id', 'outbox.chat_id')
    .select(['outbox.id', 'outbox.state', 'outbox.kind', 'outbox.body', 'chats.address', 'chats.channel'])
    .select(['outbox.unasked', 'chats.preferences'])
    .where('outbox.id', '=', id)
    .executeTakeFirst();

/** Marks a row as sent, once. `attempts` counts how often that took effect, and stays 1. */
export async function markSent(db: Db, id: string): Promise<void> {
  await db
    .updateTable('outbox')
    .set((e) => ({ state: 'sent' as const, sent_at: new Date(), attempts: e('attempts', '+', 1) }))
    .where('id', '=', id)
    .where('state', '=', 'queued')
    .execute();
}

/** It is sent when this time has come: the comparison with the Temporal server finds it then. */
export async function holdBack(db: Db, id: string, until: Date): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ not_before: until })
    .where('id', '=', id)
    .where('state', '=', 'queued')
    .execute();
}

/** The row of a message that is not sent, because the chat knows it already. A second call changes nothing. */
export async function insertDropped(
  db: Db,
  { id, chatId, kind, body }: { id: string; chatId: string; kind: 'result'; body: string },
): Promise<void> {
  const row = { id, chat_id: chatId, thread_id: null, turn_id: null, kind, body };
  await db
    .insertInto('outbox')
    .values({ ...row, state: 'dropped', error: 'the same as before' })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
}

/** Ends an outbox row that need not be sent any more. */
export async function dropOutgoing(db: Db, id: string, why: string): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ state: 'dropped', error: why })
    .where('id', '=', id)
    .where('state', '=', 'queued')
    .execute();
}

/** A question that was decided before it was sent is not sent: nobody should be asked what is settled. */
export async function dropUnsent(tx: Tx, outboxIds: string[]): Promise<void> {
  if (outboxIds.length === 0) return;
  await tx
    .updateTable('outbox')
    .set({ state: 'dropped', error: 'decided before it was sent' })
    .where('id', 'in', outboxIds)
    .where('state', '=', 'queued')
    .execute();
}

/** Messages that are no answer: what was said in between, and how tasks and routines ended. */
export interface NotificationCounts {
  /** progress and notices */
  own: number;
  reports: number;
  /** progress that was not sent, because a newer one or the end of its turn came first */
  superseded: number;
}

/** Since a moment. The index on `outbox` has exactly these kinds. */
export async function notificationsSince(db: Db, since: Date): Promise<NotificationCounts> {
  return await db
    .selectFrom('outbox')
    .select([
      sql<number>`count(*) filter (where kind <> 'result')`.as('own'),
      sql<number>`count(*) filter (where kind = 'result')`.as('reports'),
      sql<number>`count(*) filter (where kind = 'progress' and state = 'dropped')`.as('superseded'),
    ])
    .where('kind', 'in', ['notice', 'progress', 'result'])
    .where('created_at', '>=', since)
    .executeTakeFirstOrThrow();
}

/** `of`: the id of the turn or coding task. Reports of one replace each other. */
export interface ProgressReport {
  chatId: string;
  threadId: string;
  of: string;
  text: string;
}

/** A progress report for a channel without our screen; null when screens already show everything. */
export async function recordProgress(
  db: Db,
  { chatId, threadId, of, text }: ProgressReport,
): Promise<{ outboxId: string; channel: Channel; workflowId: string } | null> {
  const chat = await db
    .selectFrom('chats')
    .select(['channel', 'workflow_id'])
    .where('id', '=', chatId)
    .executeTakeFirst();
  if (!chat || capabilitiesOf(chat.channel).screen) return null;
  const outboxId = `out_${of}_progress_${Date.now().toString(36)}`;
  // two reports within one ms say the same
  const values = {
    id: outboxId,
    chat_id: chatId,
    thread_id: threadId,
    turn_id: of,
    kind: 'progress' as const,
    unasked: 'progress' as const,
    body: text,
  };
  await db
    .insertInto('outbox')
    .values(values)
    .onConflict((c) => c.doNothing())
    .execute();
  return { outboxId, channel: chat.channel, workflowId: chat.workflow_id };
}

/** A queued message that waits longer than this does not count as being written. */
const WRITING_MS = 120_000;

/** Chats in which a turn is at work or a message is being sent, without those that wait for their person. */
export async function busyChats(db: Db, channel: Channel, limit: number): Promise<string[]> {
  const working = await db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('chats.address')
    .distinct()
    .where('turns.status', '=', 'in_progress')
    .where('chats.channel', '=', channel)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('questions')
            .select('questions.id')
            .whereRef('questions.thread_id', '=', 'threads.id')
            .where('questions.state', '=', 'open'),
        ),
      ),
    )
    .limit(limit)
    .execute();
  const writing = await db
    .selectFrom('outbox')
    .innerJoin('chats', 'chats.id', 'outbox.chat_id')
    .select('chats.address')
    .distinct()
    .where('outbox.state', '=', 'queued')
    .where('outbox.not_before', 'is', null)
    .where('outbox.created_at', '>', new Date(Date.now() - WRITING_MS))
    .where('chats.channel', '=', channel)
    .limit(limit)
    .execute();
  return [...new Set([...working, ...writing].map((row) => row.address))];
}
