import { createHash } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { type FileShown, SHOWN_FILE_CHARS, SHOWN_PICTURES } from '../../../domain/text/files.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import type { AttachmentTable } from '../../schema/tables/chats.ts';
import { derivedId, isOrWas } from '../ids.ts';
import type { ThreadTransaction } from '../thread-transaction.ts';

interface NewAttachment {
  /** derived from the message that it came with, so that a repeated message stores it once */
  id: string;
  threadId: string;
  kind: AttachmentTable['kind'];
  mime: string;
  name: string | null;
  data: Buffer;
  preview: Buffer | null;
  text: string | null;
}
/** An attachment without its bytes. */
export type AttachmentRecord = Omit<Selectable<AttachmentTable>, 'data' | 'preview' | 'copied_from'>;

/** Tokens that a picture counts as; providers charge between 85 and 1,600. */
const PICTURE_TOKENS = 1000;

export const attachmentId = (...parts: string[]): string => derivedId('msg_', ...parts).replace('msg_', 'att_');

export const findAttachment = (db: Db | Tx, id: string): Promise<AttachmentRecord | undefined> =>
  db
    .selectFrom('attachments')
    .select(['id', 'thread_id', 'kind', 'mime', 'name', 'size', 'sha256', 'text', 'created_at'])
    .where('id', '=', id)
    .executeTakeFirst();

/** Stores the files of a message. A second call changes nothing. */
export async function saveAttachment(db: Db | Tx, it: NewAttachment): Promise<void> {
  await db
    .insertInto('attachments')
    .values({
      id: it.id,
      thread_id: it.threadId,
      kind: it.kind,
      mime: it.mime,
      name: it.name,
      size: it.data.length,
      sha256: createHash('sha256').update(it.data).digest('hex'),
      data: it.data,
      preview: it.preview,
      text: it.text,
    })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
}

/** More than one message adds to a thread. */
const NEWEST_EVENTS = 10;

/**
 * Adds attachments to a user message: to its item, to the events of that, and to what the model reads. Runs in the
 * transaction that adds the message.
 */
export async function attach(tx: ThreadTransaction, itemId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await tx.now
    .selectFrom('attachments')
    .select(['id', 'kind', 'mime', 'name', 'size', 'text'])
    .where('id', 'in', [...ids])
    .execute();
  const known = ids.flatMap((id) => rows.find((row) => row.id === id) ?? []);
  const tokens = known.reduce(
    (sum, row) =>
      sum +
      (row.kind === 'image'
        ? PICTURE_TOKENS
        : row.kind === 'document'
          ? Math.ceil(Math.min(row.text?.length ?? 0, SHOWN_FILE_CHARS) / 4)
          : 0),
    0,
  );
  // these rows are not inserted yet, so they can be changed here
  await tx.sendPending();
  await tx.now
    .updateTable('transcript')
    .set((e) => ({ attachment_ids: json(known.map((row) => row.id)), tokens: e('tokens', '+', tokens) }))
    .where('id', '=', derivedId('msg_', itemId))
    .execute();
  const metadata = json({
    attachments: known.map(({ id, kind, mime, name, size }) => ({ id, kind, mime, name, size })),
  });
  await tx.now.updateTable('items').set({ metadata }).where('id', '=', itemId).execute();
  // screens that follow the thread learn of the item by these events, which nobody has read before the commit
  await sql`update events set payload = jsonb_set(payload, '{item,metadata}', ${metadata}) where item_id = ${itemId} and payload ? 'item'
    and seq in (select seq from events where thread_id = ${tx.threadId} order by seq desc limit ${NEWEST_EVENTS})`.execute(
    tx.now,
  );
}

/**
 * The bytes of an attachment of a thread; undefined when it has none of this id. Texts of a copied thread name the
 * first one.
 */
export const bytesOfAttachment = (db: Db | Tx, threadId: string, id: string): Promise<{ data: Buffer } | undefined> =>
  db
    .selectFrom('attachments')
    .select('data')
    .where('thread_id', '=', threadId)
    .where(isOrWas('attachments', id))
    .executeTakeFirst();

/** The bytes of a picture that somebody else keeps: it is here no more. */
export const takeAttachment = (db: Db, threadId: string, id: string): Promise<{ data: Buffer } | undefined> =>
  db
    .deleteFrom('attachments')
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .returning('data')
    .executeTakeFirst();

/** How long a file waits for the word that it is for. */
const BUNDLE_DAYS = 7;

/** The newest packed file that came to a chat, which a session is; none that was sent from here. */
export const latestBundle = (db: Db | Tx, chatId: string): Promise<{ id: string; thread_id: string } | undefined> =>
  db
    .selectFrom('attachments')
    .innerJoin('threads', 'threads.id', 'attachments.thread_id')
    .select(['attachments.id', 'attachments.thread_id'])
    .where('threads.chat_id', '=', chatId)
    .where('attachments.kind', '=', 'document')
    .where('attachments.mime', 'not in', [GIVEN, OF_AGENT])
    .where('attachments.created_at', '>', sql<Date>`now() - ${BUNDLE_DAYS} * interval '1 day'`)
    .where(sql<boolean>`substring(attachments.data from 1 for 2) = decode('1f8b', 'hex')`)
    .orderBy('attachments.created_at', 'desc')
    .limit(1)
    .executeTakeFirst();

/** The type of a session that was packed here, for the person's own machine. */
export const GIVEN = 'application/vnd.fetch.session+gzip';
/** The type of a file of an agent, which is no file of the person whatever is in it. */
export const OF_AGENT = 'application/vnd.fetch.of-agent';

/** The data of an attachment, when it came in this chat. */
export const attachmentOfChat = (
  db: Db,
  chatId: string,
  id: string,
): Promise<Pick<AttachmentRecord, 'thread_id' | 'kind' | 'mime' | 'name' | 'text'> | undefined> =>
  db
    .selectFrom('attachments')
    .innerJoin('threads', 'threads.id', 'attachments.thread_id')
    .select(['attachments.thread_id', 'attachments.kind', 'attachments.mime', 'attachments.name', 'attachments.text'])
    .where(isOrWas('attachments', id))
    .where('threads.chat_id', '=', chatId)
    .executeTakeFirst();

/**
 * What a model is shown of these attachments, by message, oldest first. Pictures of the newest messages are shown, and
 * of one message the first.
 */
export async function shownFiles(db: Db, messages: ReadonlyArray<readonly string[]>): Promise<Map<string, FileShown>> {
  const ids = messages.flat();
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('attachments')
    .select(['id', 'kind', 'name', 'text'])
    .where('id', 'in', ids)
    .execute();
  const images = new Set(rows.flatMap(({ id, kind }) => (kind === 'image' ? [id] : [])));
  const newest = messages.toReversed().flat();
  const pictures = newest.filter((id) => images.has(id)).slice(0, SHOWN_PICTURES);
  const seen =
    pictures.length > 0
      ? await db.selectFrom('attachments').select(['id', 'preview']).where('id', 'in', pictures).execute()
      : [];
  const pictureOf = new Map(seen.map((row) => [row.id, row.preview?.toString('base64') ?? null]));
  return new Map(
    rows.map(({ id, kind, name, text }) => [id, { id, kind, name, text, picture: pictureOf.get(id) ?? null }]),
  );
}
