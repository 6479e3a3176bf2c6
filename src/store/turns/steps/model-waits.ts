import type { ThinkInput } from '../../../contracts/conversation.ts';
import { HOUR } from '../../../domain/time.ts';
import { derivedId } from '../../chats/ids.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import { addItem } from '../../chats/threads/items.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { notify, sendBeside, type Told } from '../replies.ts';

export interface ModelWait {
  /** `limit`: the endpoint asked for the wait. `silence`: it does not answer */
  kind: 'limit' | 'silence';
  /** for `status`, which shows it after "Waiting for" */
  what: string;
  until: Date;
  /** text for the person; null while the wait is too short */
  tell: string | null;
}

/** A turn reports a kind of wait once, and again only when it became this much longer. */
const LONGER_MS = HOUR;

/**
 * Records what a turn in progress waits for. If people are told, returns the message that the conversation must send.
 */
export async function noteWait(
  db: Db,
  at: { turnId: string; threadId: string },
  wait: ModelWait,
): Promise<Told | null> {
  const { turnId, threadId } = at;
  const { kind, what, until } = wait;
  return await onThread(db, threadId, async (tx) => {
    const turn = await tx.now.selectFrom('turns').select('status').where('id', '=', turnId).executeTakeFirst();
    if (turn?.status !== 'in_progress') return null;
    const known = await tx.now
      .selectFrom('model_waits')
      .selectAll()
      .where('turn_id', '=', turnId)
      .where('kind', '=', kind)
      .executeTakeFirst();
    const told = known?.told ?? 0;
    const tells =
      wait.tell !== null && (!known?.told_until || until.getTime() - known.told_until.getTime() > LONGER_MS);
    const now = { what, until, ...(tells && { told: told + 1, told_until: until }) };
    await tx.now
      .insertInto('model_waits')
      .values({ turn_id: turnId, kind, ...now })
      .onConflict((c) => c.columns(['turn_id', 'kind']).doUpdateSet(now))
      .execute();
    if (!tells) return null;
    const outboxId = await notify(tx, { turnId, key: `${kind}${told}`, body: wait.tell! });
    return await sendBeside(tx, outboxId);
  });
}

/** The wait is over, because an answer came. */
export async function endWaits(db: Db, turnId: string): Promise<void> {
  await db
    .updateTable('model_waits')
    .set({ until: new Date() })
    .where('turn_id', '=', turnId)
    .where('until', '>', new Date())
    .execute();
}

/** What a turn waits for now, as `status` says it. */
export async function waitOfTurn(tx: Tx, turnId: string): Promise<string | null> {
  const row = await tx
    .selectFrom('model_waits')
    .select('what')
    .where('turn_id', '=', turnId)
    .where('until', '>', new Date())
    .orderBy('until', 'desc')
    .executeTakeFirst();
  return row?.what ?? null;
}

/** Tells the person, once for a turn, that a restart delayed it. */
export async function tellDelay(db: Db, { turnId, threadId }: ThinkInput): Promise<void> {
  const id = derivedId('item_', turnId, 'delay');
  await onThread(db, threadId, async (tx) => {
    const text = (await sayTo(tx.now, tx.chatId))('end.restart');
    await addItem(tx, { id, turnId, threadId, kind: 'status', status: 'completed', summary: text, detail: text });
  });
}
