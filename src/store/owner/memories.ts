import { type Selectable, sql } from 'kysely';
import { capabilitiesOf, isGroupChat } from '../../contracts/channels.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { Source } from '../../contracts/taint.ts';
import { canonicalUser } from '../../domain/whatsapp/identity.ts';
import { chatBehind } from '../chats/shares.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { MemoryTable } from '../schema/tables/owner.ts';
import { telegramPerson } from '../telegram/bots.ts';

export type Memory = Omit<Selectable<MemoryTable>, 'words'>;

const COLUMNS = ['id', 'owner', 'body', 'sources', 'created_at'] as const;

/** The same id, or the same words of the same owner, is one memory. Words that were clean stay clean. */
export async function addMemory(
  db: Db,
  memory: { id: string; owner: string; body: string; sources: readonly Source[] },
): Promise<Memory> {
  const { id, owner, body, sources } = memory;
  const known = await db
    .selectFrom('memories')
    .select(COLUMNS)
    .where('owner', '=', owner)
    .where('body', '=', body)
    .executeTakeFirst();
  if (known) return known;
  await db
    .insertInto('memories')
    .values({ id, owner, body, sources: json(sources) })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
  return await db.selectFrom('memories').select(COLUMNS).where('id', '=', id).executeTakeFirstOrThrow();
}

export const countMemories = async (db: Db, owner: string): Promise<number> =>
  (
    await db
      .selectFrom('memories')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('owner', '=', owner)
      .executeTakeFirstOrThrow()
  ).count;

/** Whose memories an owner reads. */
const readBy = (owner: string): string[] => [owner, EVERYONE];

/** Whose memories an owner deletes: what everybody knows only the owner's chats change. */
const changedBy = (owner: string): string[] => (owner === OWNER ? [owner, EVERYONE] : [owner]);

/** Newest first. */
export const listMemories = (db: Db | Tx, owner: string, limit: number): Promise<Memory[]> =>
  db
    .selectFrom('memories')
    .select(COLUMNS)
    .where('owner', 'in', readBy(owner))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();

/** Those with any of the words, or the beginning of one; those with most of them first. */
export async function findMemories(db: Db, owner: string, query: string, limit: number): Promise<Memory[]> {
  const words = query.normalize('NFC').match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return await listMemories(db, owner, limit);
  const any = sql`to_tsquery('simple', ${words
    .slice(0, 30)
    .map((word) => `'${word}':*`)
    .join(' | ')})`;
  return await db
    .selectFrom('memories')
    .select(COLUMNS)
    .where('owner', 'in', readBy(owner))
    .where(sql<boolean>`words @@ ${any}`)
    .orderBy(sql`ts_rank(words, ${any})`, 'desc')
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute();
}

/** Returns what is gone. Null: all of the owner. */
export async function removeMemories(db: Db | Tx, owner: string, id: string | null): Promise<Memory[]> {
  let query = db.deleteFrom('memories').where('owner', 'in', changedBy(owner));
  if (id !== null) query = query.where('id', '=', id);
  return await query.returning(COLUMNS).execute();
}

/** Most memories that a prompt looks at. */
const SHOWN = 100;

/** What a prompt may show: the newest of the person's own words, oldest first, so that the text grows at its end. */
export async function memoriesForPrompt(db: Db, owner: string): Promise<string[]> {
  const rows = await db
    .selectFrom('memories')
    .select('body')
    .where('owner', 'in', readBy(owner))
    .where(sql<boolean>`sources = '[]'`)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(SHOWN)
    .execute();
  return rows.map(({ body }) => body).reverse();
}

/** Every memory of every owner, for the export. */
export const allMemories = (db: Db): Promise<Memory[]> =>
  db.selectFrom('memories').select(COLUMNS).orderBy('owner').orderBy('created_at').orderBy('id').execute();

export const removeAnyMemories = async (db: Db, id: string | null): Promise<Memory[]> => {
  const query = db.deleteFrom('memories').returning(COLUMNS);
  return await (id === null ? query : query.where('id', '=', id)).execute();
};

/** The owner's memories, in all chats that only the owner reads. */
const OWNER = 'owner';

/** What the owner wants known in every chat. Only the owner's chats change it. */
export const EVERYONE = 'everyone';

/**
 * The owner of a chat's memories. Other people read along in their chats and in groups, also when the owner writes there:
 * each of these chats has memories of its own.
 */
export async function memoryOwner(
  db: Db | Tx,
  chat: string,
  { OWNER_PHONE_NUMBER }: { OWNER_PHONE_NUMBER?: string | undefined },
): Promise<string> {
  const chatId = await chatBehind(db, chat);
  // the id of a chat begins with its channel
  if (capabilitiesOf(chatId).screen !== null) return OWNER;
  const { channel, address } = await db
    .selectFrom('chats')
    .select(['channel', 'address'])
    .where('id', '=', chatId)
    .executeTakeFirstOrThrow();
  if (isGroupChat(channel, address)) return chatId;
  return (await OWNERS_CHAT[channel]?.(db, address, OWNER_PHONE_NUMBER)) ? OWNER : chatId;
}

/**
 * Whether a chat is a main one: only the owner reads it. It sees every chat, and may write to, schedule for and change
 * each; all others reach only themselves.
 */
export const isMainChat = async (
  db: Db | Tx,
  chatId: string,
  config: { OWNER_PHONE_NUMBER?: string | undefined },
): Promise<boolean> => (await memoryOwner(db, chatId, config)) === OWNER;

/** Whether a chat that only one other person reads is the owner's, on each channel that sends messages. */
const OWNERS_CHAT: {
  [C in Channel]?: (db: Db | Tx, address: string, ownerPhone: string | undefined) => Promise<boolean>;
} = {
  whatsapp: isOwnersWhatsApp,
  telegram: async (db, address) => (await telegramPerson(db, Number(address.split('/')[0])))?.role === 'owner',
};

async function isOwnersWhatsApp(db: Db | Tx, address: string, ownerPhone: string | undefined): Promise<boolean> {
  const accounts = await db.selectFrom('wa_accounts').select(['jid', 'lid']).execute();
  const phones = (ownerPhone ?? '').split(',').flatMap((phone) => (phone ? [`${phone}@s.whatsapp.net`] : []));
  const own = accounts.map(({ jid, lid }) => [jid, lid].flatMap((form) => (form ? [canonicalUser(form)] : [])));
  // without the setting, the linked account is the owner
  const owners = new Set([
    ...phones,
    ...own.filter((forms) => phones.length === 0 || forms.some((form) => phones.includes(form))).flat(),
  ]);
  const contacts = await db
    .selectFrom('wa_contacts')
    .select(['pn', 'lid'])
    .where('chat_address', '=', address)
    .execute();
  const forms = [address, ...contacts.flatMap(({ pn, lid }) => [pn, lid])];
  return forms.some((form) => form !== null && owners.has(canonicalUser(form)));
}
