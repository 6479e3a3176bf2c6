import { sql } from 'kysely';
import { DAY } from '../../domain/time.ts';
import type { Db } from '../postgres/database.ts';

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
