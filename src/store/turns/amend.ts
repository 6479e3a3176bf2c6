import { sql } from 'kysely';
import type { Arrival } from '../../contracts/conversation.ts';
import { cut, derivedId, roughTokens, steerItemId } from '../chats/ids.ts';
import { onThread } from '../chats/thread-transaction.ts';
import { toItemRecord } from '../chats/threads/items.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { type Heard, remember } from './steps/transcript.ts';

interface Amendment {
  /** forms that the text may have in what was stored, most likely first */
  was: string[];
  /** null when the message was deleted */
  now: string | null;
  /** what the model is told when it has already read the message */
  note: string;
  /** sources of the note */
  heard: Heard;
  /** the form of further lines in what was stored */
  continued?: (text: string) => string;
}

/**
 * `changed`: nobody had read it. `emptied`: the turn has nothing left and should stop. `noted`: it was already read.
 * `settled`: it was not input for the model.
 */
export type Amended = { kind: 'changed' | 'noted' | 'settled' } | { kind: 'emptied'; threadId: string; turnId: string };

const DELETED = '[deleted by its author before it was read]';

/** Carries out an edit or deletion of a message. `also` runs in the same transaction. */
export async function amendInput(
  db: Db,
  inboxId: string,
  change: Amendment,
  also: (tx: Tx) => Promise<void>,
): Promise<Amended> {
  const { thread_id: threadId } = await db
    .selectFrom('inbox')
    .select('thread_id')
    .where('id', '=', inboxId)
    .executeTakeFirstOrThrow();
  return await onThread(db, threadId, async (tx) => {
    const { now } = tx;
    await also(now);
    const row = await now
      .selectFrom('inbox')
      .select(['arrival', 'body', 'turn_id', 'consumed_at'])
      .where('id', '=', inboxId)
      .executeTakeFirstOrThrow();
    const { kind } = row.arrival as Arrival;
    const turnId = row.turn_id;
    if (turnId === null || (kind !== 'turn' && kind !== 'steer')) return { kind: 'settled' };
    const itemId = kind === 'turn' ? derivedId('item_', turnId, 'user') : steerItemId(inboxId);
    const turn = await now.selectFrom('turns').select('status').where('id', '=', turnId).executeTakeFirst();
    const said = await now
      .selectFrom('transcript')
      .select(['content', 'words'])
      .where('id', '=', derivedId('msg_', itemId))
      .executeTakeFirst();
    const { continued = (text: string) => text } = change;
    const was = change.was.find((text) => text !== '' && said?.content.includes(continued(text)));
    if (row.consumed_at || turn?.status !== 'in_progress' || said === undefined || was === undefined) {
      remember(tx, {
        id: derivedId('msg_', inboxId, change.note),
        turnId,
        role: 'user',
        content: change.note,
        ...change.heard,
      });
      return { kind: 'noted' };
    }
    // a function, because `replace` would interpret special patterns in a text
    const left = said.content.replace(continued(was), () => continued(change.now ?? '')).trim();
    const text = left || DELETED;
    // drawn again, so that a step that is working with the old text thinks again
    await now
      .updateTable('transcript')
      .set({
        content: text,
        words: said.words?.replace(was, () => change.now ?? ''),
        tokens: roughTokens(text),
        ord: sql`nextval('transcript_ord_seq')`,
      })
      .where('id', '=', derivedId('msg_', itemId))
      .execute();
    await now.updateTable('inbox').set({ body: text }).where('id', '=', inboxId).execute();
    const item = await now
      .updateTable('items')
      .set({ summary: cut(text, 280), detail: text })
      .where('id', '=', itemId)
      .returningAll()
      .executeTakeFirst();
    if (item) tx.append({ event: 'item.completed', turnId, itemId, payload: { item: toItemRecord(item) } });
    return left === '' && kind === 'turn' ? { kind: 'emptied', threadId, turnId } : { kind: 'changed' };
  });
}
