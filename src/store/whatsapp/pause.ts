import type { Db } from '../postgres/database.ts';

/** A stop of sending by WhatsApp, for an account or a chat: nothing is sent before `until`. */
interface SendPause {
  until: Date;
  why: string;
}

/** Stops all sends of an account. An existing longer pause stays. */
export async function pauseSends(db: Db, account: string, pause: SendPause): Promise<void> {
  await db
    .updateTable('wa_accounts')
    .set({ sends_paused_until: pause.until, sends_paused_why: pause.why })
    .where('account', '=', account)
    .where((e) => e.or([e('sends_paused_until', 'is', null), e('sends_paused_until', '<', pause.until)]))
    .execute();
}

/** The pause that holds now, or null. */
export async function sendPause(db: Db, account: string, now = new Date()): Promise<SendPause | null> {
  const row = await db
    .selectFrom('wa_accounts')
    .select(['sends_paused_until', 'sends_paused_why'])
    .where('account', '=', account)
    .where('sends_paused_until', '>', now)
    .executeTakeFirst();
  return row ? { until: row.sends_paused_until!, why: row.sends_paused_why ?? 'WhatsApp restricted sending.' } : null;
}

/** Stops the sends to one chat. Returns how many chats of the account are stopped now with this code. */
export async function pauseChat(
  db: Db,
  account: string,
  jid: string,
  { until, why, code }: SendPause & { code: string },
  now = new Date(),
): Promise<number> {
  await db
    .insertInto('wa_chat_pauses')
    .values({ account, jid, until, why, code })
    .onConflict((c) => c.columns(['account', 'jid']).doUpdateSet({ until, why, code }))
    .execute();
  const { chats } = await db
    .selectFrom('wa_chat_pauses')
    .select((e) => e.fn.countAll<string>().as('chats'))
    .where('account', '=', account)
    .where('code', '=', code)
    .where('until', '>', now)
    .executeTakeFirstOrThrow();
  return Number(chats);
}

/** Something changed in a chat, so what waits for it may be sent again: not after a 463, where a try makes it worse. */
export async function resumeChat(db: Db, account: string, jids: readonly (string | null)[]): Promise<void> {
  await db
    .deleteFrom('wa_chat_pauses')
    .where('account', '=', account)
    .where('jid', 'in', [...jids.filter((jid) => jid !== null), ''])
    .where('code', '!=', '463')
    .execute();
}

/** The pause of a chat that holds now, or null. */
export const chatPause = async (db: Db, account: string, jid: string, now = new Date()): Promise<SendPause | null> =>
  (await db
    .selectFrom('wa_chat_pauses')
    .select(['until', 'why'])
    .where('account', '=', account)
    .where('jid', '=', jid)
    .where('until', '>', now)
    .executeTakeFirst()) ?? null;
