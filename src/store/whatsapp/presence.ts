import { sql } from 'kysely';
import { DAY } from '../../domain/time.ts';
import type { Db } from '../postgres/database.ts';

/** A queued message that waits longer than this does not count as being written. */
const WRITING_MS = 120_000;

/** Chats in which a turn is at work or a message is being sent, without those that wait for their person. */
export async function busyChats(db: Db, limit: number): Promise<string[]> {
  const working = await db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('chats.address')
    .distinct()
    .where('turns.status', '=', 'in_progress')
    .where('chats.channel', '=', 'whatsapp')
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
    .where('chats.channel', '=', 'whatsapp')
    .limit(limit)
    .execute();
  return [...new Set([...working, ...writing].map((row) => row.address))];
}

interface Unread {
  seq: number;
  chat: string;
  participant: string;
  messageId: string;
}

/**
 * Messages of the last day that became input and whose authors were not shown that they were read. It has none of
 * strangers.
 */
export async function unreadInput(db: Db, account: string, limit: number): Promise<Unread[]> {
  const rows = await db
    .selectFrom('wa_inbox')
    .select(['seq', 'chat', 'participant', 'message_id'])
    .where('account', '=', account)
    .where('inbox_id', 'is not', null)
    .where('read_sent_at', 'is', null)
    .where(sql<boolean>`not from_me`)
    .where('received_at', '>', new Date(Date.now() - DAY))
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ seq: row.seq, chat: row.chat, participant: row.participant, messageId: row.message_id }));
}

export async function markReadSent(db: Db, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return;
  await db
    .updateTable('wa_inbox')
    .set({ read_sent_at: new Date() })
    .where('seq', 'in', [...seqs])
    .execute();
}
