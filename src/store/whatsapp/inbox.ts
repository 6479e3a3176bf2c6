import { sql } from 'kysely';
import { type Db, json, type Tx } from '../database.ts';

/** The key of a message on WhatsApp: an id alone is unique neither in a group nor over two linked accounts. JIDs without device suffix. */
export interface MessageKey {
  account: string;
  chat: string;
  /** author in a group, '' elsewhere */
  participant: string;
  fromMe: boolean;
  messageId: string;
}
export interface NewReceived extends MessageKey {
  /** proto.Message bytes, unpadded; null for a stub */
  content: Buffer | null;
  attrs: Record<string, string>;
}
export interface Waiting extends NewReceived {
  seq: number;
  receivedAt: Date;
}

/**
 * Stores what was decrypted, in the transaction of its ratchet step. A message that is there already changes nothing,
 * unless only its stub was: then the content replaces it and the row is handled again.
 */
export async function storeReceived(tx: Db | Tx, rows: readonly NewReceived[]): Promise<void> {
  for (const row of rows) {
    await tx
      .insertInto('wa_inbox')
      .values({
        account: row.account,
        chat: row.chat,
        participant: row.participant,
        from_me: row.fromMe,
        message_id: row.messageId,
        content: row.content,
        attrs: json(row.attrs),
        handled_at: null,
        verdict: null,
        inbox_id: null,
      })
      .onConflict((c) =>
        c
          .columns(['account', 'chat', 'participant', 'from_me', 'message_id'])
          .doUpdateSet({ content: sql`excluded.content`, attrs: sql`excluded.attrs`, handled_at: null, verdict: null })
          .where('wa_inbox.content', 'is', null),
      )
      .execute();
  }
}

/** Rows that wait to be handled, in the order of their arrival. */
export async function waiting(db: Db, account: string, limit: number): Promise<Waiting[]> {
  const rows = await db.selectFrom('wa_inbox').selectAll().where('account', '=', account).where('handled_at', 'is', null).orderBy('seq').limit(limit).execute();
  return rows.map((row) => ({
    seq: row.seq,
    account: row.account,
    chat: row.chat,
    participant: row.participant,
    fromMe: row.from_me,
    messageId: row.message_id,
    content: row.content,
    attrs: row.attrs,
    receivedAt: row.received_at,
  }));
}

/** Ends rows with the reason; in the transaction of what they became, where they became something. */
export async function markHandled(tx: Db | Tx, seqs: readonly number[], verdict: string, inboxId: string | null = null): Promise<void> {
  if (seqs.length === 0) return;
  await tx
    .updateTable('wa_inbox')
    .set({ handled_at: new Date(), verdict, inbox_id: inboxId })
    .where('seq', 'in', [...seqs])
    .execute();
}
