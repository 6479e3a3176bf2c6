import { sql } from 'kysely';
import { canonicalUser } from '../../domain/whatsapp/identity.ts';
import { isProgressStale, type OutgoingRow } from '../chats/messages/outgoing.ts';
import type { Db, Tx } from '../postgres/database.ts';

/** Where a message goes on WhatsApp, what it answers, and the files that it uploaded. */

/** A received message that is quoted. */
export interface Quotable {
  messageId: string;
  /** author in a group, '' elsewhere */
  participant: string;
  fromMe: boolean;
  /** proto.Message bytes */
  content: Buffer;
}

/**
 * The JID for a chat's address: the form that its person last wrote from, even if two contacts became one; a group's
 * own address. Null when the only address of the person passed to somebody else.
 */
export async function replyJid(db: Db, account: string, address: string): Promise<string | null> {
  const contact = await db
    .selectFrom('wa_contacts')
    .select(['reply_jid', 'lid', 'pn'])
    .where('account', '=', account)
    .where((e) => e.or([e('chat_address', '=', address), e('lid', '=', address), e('pn', '=', address)]))
    .orderBy((e) => e('chat_address', '=', address), 'desc')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  if (!contact) return address;
  return contact.lid === null && contact.pn === null ? null : contact.reply_jid;
}

/**
 * The message that an outbox row answers: the one that began its turn, or the newest of several joined ones. A reply
 * without a turn of the model answers the inbox row that names it.
 */
export async function answered(
  db: Db,
  account: string,
  row: Pick<OutgoingRow, 'id' | 'turnId'>,
): Promise<Quotable | null> {
  const received = db
    .selectFrom('inbox')
    .innerJoin('wa_inbox', 'wa_inbox.inbox_id', 'inbox.id')
    .select(['wa_inbox.message_id', 'wa_inbox.participant', 'wa_inbox.from_me', 'wa_inbox.content'])
    .where('wa_inbox.account', '=', account)
    // not a stub, and not one whose content was deleted
    .where(sql<boolean>`octet_length(wa_inbox.content) > 0`);
  const asReply = received
    .where(sql<boolean>`inbox.arrival ->> 'kind' = 'reply'`)
    .where(sql<boolean>`inbox.arrival ->> 'outboxId' = ${row.id}`);
  const ofTurn = received
    .where('inbox.turn_id', '=', row.turnId)
    .where(sql<boolean>`inbox.arrival ->> 'kind' = 'turn'`);
  for (const query of row.turnId ? [ofTurn, asReply] : [asReply]) {
    const found = await query.orderBy('wa_inbox.seq', 'desc').limit(1).executeTakeFirst();
    if (found)
      return {
        messageId: found.message_id,
        participant: found.participant,
        fromMe: found.from_me,
        content: found.content!,
      };
  }
  return null;
}

/** The position of a progress report among those of its turn. */
interface ProgressState {
  /** its turn is over, or a newer report waits, so it need not be sent */
  stale: boolean;
  /** the turn's message that reports are edited into, if it was sent after `since` */
  into: { messageId: string; jid: string } | null;
  lastSentAt: Date | null;
}
export async function progressState(
  db: Db,
  row: Pick<OutgoingRow, 'id' | 'turnId'>,
  since: Date,
): Promise<ProgressState> {
  if (!row.turnId) return { stale: false, into: null, lastSentAt: null };
  const stale = await isProgressStale(db, { id: row.id, turnId: row.turnId });
  const sent = await db
    .selectFrom('wa_sends')
    .innerJoin('outbox', 'outbox.id', 'wa_sends.outbox_id')
    .select(['wa_sends.message_id', 'wa_sends.jid', 'wa_sends.sent_at', 'wa_sends.edits'])
    .where('outbox.turn_id', '=', row.turnId)
    .where('outbox.kind', '=', 'progress')
    .where('wa_sends.sent_at', 'is not', null)
    .where('wa_sends.state', '!=', 'failed')
    .orderBy('wa_sends.sent_at', 'desc')
    .execute();
  const into = sent.find((each) => each.edits === null && each.sent_at! > since);
  return {
    stale,
    into: into ? { messageId: into.message_id, jid: into.jid } : null,
    lastSentAt: sent[0]?.sent_at ?? null,
  };
}

/** Whether two addresses belong to one person: the same user, or both forms of a contact. */
export async function samePersonKnown(db: Db, account: string, one: string, other: string): Promise<boolean> {
  const [a, b] = [canonicalUser(one), canonicalUser(other)];
  if (a === b) return true;
  const own = await db
    .selectFrom('wa_accounts')
    .select(['jid', 'lid'])
    .where('account', '=', account)
    .executeTakeFirst();
  if (own?.jid && own.lid && samePair([canonicalUser(own.jid), canonicalUser(own.lid)], [a, b])) return true;
  const contact = await db
    .selectFrom('wa_contacts')
    .select(['lid', 'pn'])
    .where('account', '=', account)
    .where((e) => e.or([e('lid', 'in', [a, b]), e('pn', 'in', [a, b])]))
    .execute();
  return contact.some(({ lid, pn }) => lid !== null && pn !== null && samePair([lid, pn], [a, b]));
}

const samePair = (one: readonly string[], other: readonly string[]): boolean =>
  one.every((each) => other.includes(each));

/**
 * Messages with an uploaded file, until all messages of their outbox row are made. If the process dies in between, the
 * next one uses them.
 */

/** proto.Message bytes by what makes the file the same at another attempt. */
export async function uploadsOf(db: Db, outboxId: string): Promise<Map<string, Buffer>> {
  const rows = await db
    .selectFrom('wa_uploads')
    .select(['file', 'content'])
    .where('outbox_id', '=', outboxId)
    .execute();
  return new Map(rows.map((row) => [row.file, row.content]));
}

/** The first one counts. */
export async function keepUpload(db: Db, outboxId: string, file: string, content: Buffer): Promise<void> {
  await db
    .insertInto('wa_uploads')
    .values({ outbox_id: outboxId, file, content })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function dropUploads(tx: Tx, outboxId: string): Promise<void> {
  await tx.deleteFrom('wa_uploads').where('outbox_id', '=', outboxId).execute();
}
