import { type Selectable, sql } from 'kysely';
import { capabilitiesOf } from '../../contracts/channels.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { Source } from '../../contracts/taint.ts';
import { type GroupNotes, type GroupRule, TALK_CHARS, TALK_DAYS, TALK_MESSAGES } from '../../domain/chat/groups.ts';
import { oneLine, saidBy } from '../../domain/text/foreign-text.ts';
import { prefix } from '../../domain/text/storable.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { GroupTable } from '../schema/tables/chats.ts';
import { derivedId } from './ids.ts';

/** Groups that the account is in, and what is said there between two answers. */

export type Group = Selectable<GroupTable>;

/** A chat of a topic has the address of its group, a slash and the topic. */
const baseOf = (address: string): string => address.split('/')[0]!;

export const groupAt = (db: Db | Tx, channel: Channel, address: string): Promise<Group | undefined> =>
  db
    .selectFrom('groups')
    .selectAll()
    .where('channel', '=', channel)
    .where('address', '=', baseOf(address))
    .executeTakeFirst();

/** The group of a chat while it is answered: registered, not paused, and the account is in it. */
export const isAnswered = ({ registered_at, paused_at, left_at }: Group): boolean =>
  registered_at !== null && paused_at === null && left_at === null;

/** The registered group of a chat, also when the account has left it. */
export async function groupOfChat(db: Db | Tx, chatId: string): Promise<Group | undefined> {
  // the id of a chat begins with its channel
  if (capabilitiesOf(chatId).groups === null) return undefined;
  const { rows } = await sql<Group>`
    select groups.* from chats join groups on groups.channel = chats.channel and groups.address = split_part(chats.address, '/', 1)
    where chats.id = ${chatId} and groups.registered_at is not null`.execute(db);
  return rows[0];
}

/** By name. */
export const listGroups = (db: Db | Tx): Promise<Group[]> =>
  db.selectFrom('groups').selectAll().orderBy(sql`lower(name)`).orderBy('channel').orderBy('address').execute();

/** What a channel tells of a group. */
interface SeenGroup {
  channel: Channel;
  address: string;
  name: string;
  members: number | null;
}

/** Notes that the account is in a group. One that it comes back to has to be registered again. */
export async function noteGroup(db: Db | Tx, seen: SeenGroup): Promise<Group> {
  const { channel, address } = seen;
  const before = await groupAt(db, channel, address);
  const fields = {
    name: oneLine(seen.name, 100) || 'a group',
    ...(seen.members !== null && { members: seen.members }),
  };
  const joined = before === undefined || before.left_at !== null;
  return await db
    .insertInto('groups')
    .values({ channel, address: baseOf(address), members: null, ...fields })
    .onConflict((c) =>
      c.columns(['channel', 'address']).doUpdateSet({
        ...fields,
        left_at: null,
        ...(joined && { registered_at: null, told_at: null, rule: json({}) }),
      }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The owner is told of a group once: the group for the caller that tells, else undefined. */
export const takeTelling = (
  db: Db | Tx,
  { channel, address }: Pick<Group, 'channel' | 'address'>,
): Promise<Group | undefined> =>
  db
    .updateTable('groups')
    .set({ told_at: new Date() })
    .where('channel', '=', channel)
    .where('address', '=', address)
    .where('told_at', 'is', null)
    .returningAll()
    .executeTakeFirst();

/** Groups of which the owner was told since then: somebody may add the account to many. */
export const toldSince = async (db: Db | Tx, since: Date): Promise<number> =>
  (
    await db
      .selectFrom('groups')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('told_at', '>', since)
      .executeTakeFirstOrThrow()
  ).count;

/** Another name. Returns the group as it was, or null when nothing has changed. */
export async function renameGroup(db: Db | Tx, channel: Channel, address: string, to: string): Promise<Group | null> {
  const before = await groupAt(db, channel, address);
  const name = oneLine(to, 100) || 'a group';
  if (!before || before.name === name) return null;
  await change(db, before, { name });
  return before;
}

/** Members have come (`by` above zero) or gone. */
export const countMembers = async (db: Db | Tx, channel: Channel, address: string, by: number): Promise<void> => {
  await db
    .updateTable('groups')
    .set((e) => ({ members: e('members', '+', by) }))
    .where('channel', '=', channel)
    .where('address', '=', baseOf(address))
    .execute();
};

/**
 * The account is no longer in the group, or (`paused`) its owner is not. Its schedules are switched off. Returns the
 * group; undefined when that is known.
 */
export async function endGroup(
  db: Db | Tx,
  channel: Channel,
  address: string,
  how: 'left' | 'paused',
): Promise<Group | undefined> {
  const before = await groupAt(db, channel, address);
  if (!before || before.left_at !== null || (how === 'paused' && (before.paused_at ?? !before.registered_at)))
    return undefined;
  await change(db, before, how === 'left' ? { left_at: new Date() } : { paused_at: new Date() });
  if (before.registered_at)
    await sql`
      update crons set enabled = false, unsent = true, updated_at = now() where enabled and chat_id in (
        select id from chats where channel = ${channel} and split_part(address, '/', 1) = ${before.address})`.execute(
      db,
    );
  return before;
}

async function change(
  db: Db | Tx,
  { channel, address }: Pick<Group, 'channel' | 'address'>,
  set: Partial<Pick<Group, 'name' | 'left_at' | 'paused_at' | 'registered_at' | 'chat_id' | 'folder'>> & {
    rule?: string;
  },
): Promise<void> {
  await db.updateTable('groups').set(set).where('channel', '=', channel).where('address', '=', address).execute();
}

/** From now on it is answered by this rule; its chat exists. */
export const registerGroup = (
  db: Db | Tx,
  group: Pick<Group, 'channel' | 'address'>,
  { chatId, folder, rule }: { chatId: string; folder: string; rule: GroupRule },
): Promise<void> =>
  change(db, group, { chat_id: chatId, folder, rule: json(rule), registered_at: new Date(), paused_at: null });

/** It is not answered any more, except as before it was registered. What was said there is deleted. */
export async function unregisterGroup(db: Db | Tx, group: Group): Promise<void> {
  await change(db, group, { registered_at: null, paused_at: null, rule: json({}) });
  await db
    .deleteFrom('group_talk')
    .where('message_id', 'is', null)
    .where('chat_id', 'in', (e) =>
      e
        .selectFrom('chats')
        .select('id')
        .where('channel', '=', group.channel)
        .where(sql<string>`split_part(address, '/', 1)`, '=', group.address),
    )
    .execute();
}

/** Registered groups whose folder is on this host, with its path. */
export async function groupFolders(
  db: Db,
  host: string,
): Promise<Array<Pick<Group, 'channel' | 'address' | 'notes'> & { path: string }>> {
  return await db
    .selectFrom('groups')
    .innerJoin('workspaces', (on) => on.onRef('workspaces.name', '=', 'groups.folder').on('workspaces.host', '=', host))
    .select(['groups.channel', 'groups.address', 'groups.notes', 'workspaces.path'])
    .where('groups.registered_at', 'is not', null)
    .execute();
}

export async function saveGroupNotes(
  db: Db,
  { channel, address }: Pick<Group, 'channel' | 'address'>,
  notes: GroupNotes | null,
): Promise<void> {
  await db
    .updateTable('groups')
    .set({ notes: notes && json(notes) })
    .where('channel', '=', channel)
    .where('address', '=', address)
    .execute();
}

/** Something that was said in a registered group and was not for us. */
interface Talk {
  chatId: string;
  key: string;
  author: string;
  owner: boolean;
  person: string | null;
  body: string;
  saidAt: Date;
}

/** Keeps the newest of what was said; the same message once. */
export async function noteTalk(db: Db | Tx, talk: Talk): Promise<void> {
  const { chatId: chat_id, key, author, owner, person, saidAt: said_at } = talk;
  const body = prefix(talk.body, TALK_CHARS);
  await db
    .insertInto('group_talk')
    .values({ chat_id, key, author: oneLine(author) || 'Somebody', owner, person, body, said_at })
    .onConflict((c) => c.columns(['chat_id', 'key']).doNothing())
    .execute();
  await sql`
    delete from group_talk where chat_id = ${chat_id} and message_id is null and (said_at < now() - ${TALK_DAYS} * interval '1 day'
      or ord <= (select ord from group_talk where chat_id = ${chat_id} and message_id is null order by ord desc offset ${TALK_MESSAGES} limit 1))`.execute(
    db,
  );
}

/** Deletes what is too old to be read. */
export const pruneTalk = async (db: Db): Promise<void> => {
  await db
    .deleteFrom('group_talk')
    .where('message_id', 'is', null)
    .where('said_at', '<', sql<Date>`now() - ${TALK_DAYS} * interval '1 day'`)
    .execute();
};

/** Its author has changed what was said, or taken it back (`to` null), before it was read. */
export async function amendTalk(db: Db | Tx, chatId: string, key: string, to: string | null): Promise<void> {
  const at = { chat_id: chatId, key };
  const unread = db.updateTable('group_talk').where('message_id', 'is', null);
  if (to !== null)
    await unread
      .set({ body: prefix(to, TALK_CHARS) })
      .where('chat_id', '=', at.chat_id)
      .where('key', '=', at.key)
      .execute();
  else
    await db
      .deleteFrom('group_talk')
      .where('message_id', 'is', null)
      .where('chat_id', '=', at.chat_id)
      .where('key', '=', at.key)
      .execute();
}

/**
 * What was said since the last answer, as a message for the dialogue of `turnId`, and whose words it has; null when
 * nothing was. It is read once: from now on the dialogue has it.
 */
export async function takeTalk(
  tx: Tx,
  chatId: string,
  forId: string,
): Promise<{ id: string; ord: number; content: string; sources: Source[] } | null> {
  const id = derivedId('msg_', forId, 'talk');
  const { rows } = await sql<{ ord: number; author: string; owner: boolean; body: string }>`
    with unread as (
      select ord from group_talk where chat_id = ${chatId} and message_id is null and said_at > now() - ${TALK_DAYS} * interval '1 day'
      order by ord desc limit ${TALK_MESSAGES} for update)
    select talk.ord, author, owner, body from group_talk as talk join unread using (ord) order by ord`.execute(tx);
  if (rows.length === 0) return null;
  await tx
    .updateTable('group_talk')
    .set({ message_id: id, body: '' })
    .where(sql<boolean>`ord = any(${rows.map(({ ord }) => ord)}::bigint[])`)
    .execute();
  const { rows: places } = await sql<{ ord: number }>`
    select nextval(pg_get_serial_sequence('transcript', 'ord')) as ord`.execute(tx);
  const lines = rows.map(({ author, owner, body }) => saidBy({ name: author, owner }, body));
  const authors = [...new Set(rows.flatMap(({ author, owner }) => (owner ? [] : [author])))];
  return {
    id,
    ord: places[0]!.ord,
    content: [TALK_NOTE, ...lines].join('\n'),
    sources: authors.map((label) => ({ kind: 'member', label })),
  };
}

const TALK_NOTE = '[Said here since your last answer, and not to you:]';

/** Who has written here lately, without the owner. */
export const talkers = async (db: Db | Tx, chatId: string): Promise<string[]> =>
  (
    await db
      .selectFrom('group_talk')
      .select('author')
      .distinct()
      .where('chat_id', '=', chatId)
      .where('owner', '=', false)
      .orderBy('author')
      .limit(50)
      .execute()
  ).map(({ author }) => author);

/** Deletes what a person said, also where the dialogue has it. Returns the number of messages. */
export async function forgetTalk(tx: Tx, people: readonly string[]): Promise<number> {
  const gone = await tx
    .deleteFrom('group_talk')
    .where(sql<boolean>`person = any(${[...people]})`)
    .returning('message_id')
    .execute();
  const messages = [...new Set(gone.flatMap(({ message_id }) => message_id ?? []))];
  if (messages.length > 0)
    await tx
      .updateTable('transcript')
      .set({ content: `${TALK_NOTE}\n(erased)`, words: '' })
      .where(sql<boolean>`id = any(${messages})`)
      .execute();
  return gone.length;
}
