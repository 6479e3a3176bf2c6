import { createHash, randomBytes } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type { Told } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import { sayTo } from '../chats/preferences.ts';
import type { Db, Tx } from '../postgres/database.ts';
import type { TelegramDatabase } from '../schema/tables/telegram.ts';
import { recordNotice } from '../turns/complete-turn.ts';
import { type Queued, tellScreens } from '../turns/notices.ts';

/** The bot, and the people who may write to it. */

export type TelegramPerson = Selectable<TelegramDatabase['tg_people']>;

/** How a person of Telegram is named where people of other channels are, too. Digits alone would be a phone number. */
export const telegramId = (userId: number): string => `telegram/${userId}`;

/** The bot that a gateway used last; undefined before the first one reached Telegram. */
export const currentBot = async (db: Db | Tx) =>
  await db.selectFrom('tg_bots').selectAll().orderBy('updated_at', 'desc').limit(1).executeTakeFirst();

/** What Telegram says of the bot whose token is set. */
export async function keepBot(db: Db, bot: { id: number; username: string; readsGroups: boolean }): Promise<void> {
  const { id, username, readsGroups: reads_groups } = bot;
  const fields = { username, reads_groups, updated_at: new Date() };
  await db
    .insertInto('tg_bots')
    .values({ id, problem: null, ...fields })
    .onConflict((c) => c.column('id').doUpdateSet(fields))
    .execute();
}

/** Why the bot does not receive now; null when it does. */
export async function reportProblem(db: Db, id: number, problem: string | null): Promise<void> {
  await db
    .insertInto('tg_bots')
    .values({ id, username: '', problem })
    .onConflict((c) =>
      c.column('id').doUpdateSet({ problem }).where(sql<boolean>`tg_bots.problem is distinct from ${problem}`),
    )
    .execute();
}

/** The lease of the bot: of two gateways that poll, each would take messages from the other. */
export const leaseOfBot = (db: Db, id: number) => ({
  hold: async (holder: string, ttlMs: number, forceFrom?: string): Promise<boolean> => {
    const { numUpdatedRows } = await db
      .updateTable('tg_bots')
      .set({ lease_holder: holder, lease_until: sql<Date>`now() + ${ttlMs} * interval '1 millisecond'` })
      .where('id', '=', id)
      .where((e) =>
        e.or([
          e('lease_holder', 'is', null),
          e('lease_holder', 'in', [holder, forceFrom ?? holder]),
          e('lease_until', '<', sql<Date>`now()`),
        ]),
      )
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  },
  drop: async (holder: string): Promise<void> => {
    await db
      .updateTable('tg_bots')
      .set({ lease_holder: null, lease_until: null })
      .where('id', '=', id)
      .where('lease_holder', '=', holder)
      .execute();
  },
  holder: async (): Promise<string | null> =>
    (await db.selectFrom('tg_bots').select('lease_holder').where('id', '=', id).executeTakeFirst())?.lease_holder ??
    null,
});

/** How long a code to pair with is accepted. */
export const CODE_MINUTES = 15;

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex');

/** A new code of 128 bits in the characters that a link to a bot allows. */
export async function newCode(tx: Tx, role: TelegramPerson['role']): Promise<string> {
  const code = randomBytes(16).toString('base64url');
  await tx.deleteFrom('tg_codes').where('expires_at', '<', new Date()).execute();
  await tx
    .insertInto('tg_codes')
    .values({ hash: hashOf(code), role, expires_at: new Date(Date.now() + CODE_MINUTES * MINUTE) })
    .execute();
  return code;
}

/** Uses a code up. The role that its sender has from now on; null when the code is not, or no longer, valid. */
export async function pair(
  tx: Tx,
  code: string,
  user: { id: number; name: string },
): Promise<TelegramPerson['role'] | null> {
  const used = await tx
    .deleteFrom('tg_codes')
    .where('hash', '=', hashOf(code))
    .where('expires_at', '>', new Date())
    .returning('role')
    .executeTakeFirst();
  if (!used) return null;
  const { role } = used;
  await tx
    .insertInto('tg_people')
    .values({ user_id: user.id, role, name: user.name })
    // the owner stays the owner, whatever link was opened
    .onConflict((c) =>
      c.column('user_id').doUpdateSet((e) => ({
        name: user.name,
        role: e
          .case()
          .when('tg_people.role', '=', 'owner')
          .then('owner' as const)
          .else(role)
          .end(),
      })),
    )
    .execute();
  return role;
}

export const telegramPeople = (db: Db | Tx): Promise<TelegramPerson[]> =>
  db.selectFrom('tg_people').selectAll().orderBy('paired_at').execute();

export const telegramPerson = async (db: Db | Tx, userId: number): Promise<TelegramPerson | undefined> =>
  await db.selectFrom('tg_people').selectAll().where('user_id', '=', userId).executeTakeFirst();

/** Takes the permission back from everybody trusted who has this name. Returns how many that were. */
export async function distrustNamed(tx: Tx, name: string): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('tg_people')
    .where('role', '=', 'trusted')
    .where(sql<boolean>`lower(name) = ${name.toLowerCase()}`)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/**
 * Says something to the owner, once for each `key`: on the screens, and in the owner's chat with the bot, whose message
 * is returned.
 */
export async function tellOwnerOnTelegram(db: Db, key: string, text: Told, unheard = false): Promise<Queued[]> {
  await tellScreens(db, key, text, true, unheard);
  const chats = await db
    .selectFrom('chats')
    .innerJoin('tg_people', (on) => on.on(sql<boolean>`chats.address = tg_people.user_id::text`))
    .select('chats.id')
    .where('chats.channel', '=', 'telegram')
    .where('tg_people.role', '=', 'owner')
    .orderBy('chats.last_activity_at', 'desc')
    .limit(1)
    .execute();
  const queued = chats.map(({ id }) => ({ chatId: id, outboxId: `out_${key}-${id}` }));
  for (const row of queued) {
    const said = text(await sayTo(db, row.chatId));
    await recordNotice(db, { ...row, text: said, kind: 'notice', unheard });
  }
  return queued;
}
