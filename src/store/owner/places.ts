import { sql } from 'kysely';
import { CHANNELS, capabilitiesOf, isGroupChat } from '../../contracts/channels.ts';
import type { Channel } from '../../contracts/ids.ts';
import { whenInWords, whoInWords } from '../../domain/chat/groups.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { type Group, isAnswered, listGroups } from '../chats/groups.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { chatsOfIds, peopleNames } from './views/chats.ts';

/** The chats of other people that the owner's own chat reaches, by their names. */

export interface Place {
  chatId: string;
  channel: Channel;
  name: string;
  group: Group | null;
  members: number | null;
}

/** Most chats that are looked through by name. */
const MOST = 500;

/** Channels that send messages to people. */
export const SENDING = (Object.keys(CHANNELS) as Channel[]).filter((name) => CHANNELS[name].screen === null);

/** Chats with people, and the groups that are answered; the latest active first. */
export async function listPlaces(db: Db | Tx): Promise<Place[]> {
  const [rows, groups] = await Promise.all([
    db
      .selectFrom('chats')
      .select(['id', 'channel', 'address'])
      .where('channel', 'in', SENDING)
      .orderBy('last_activity_at', 'desc')
      .limit(MOST)
      .execute(),
    listGroups(db),
  ]);
  const named = await chatsOfIds(
    db,
    rows.map(({ id }) => id),
  );
  return rows.flatMap(({ id, channel, address }): Place[] => {
    if (!isGroupChat(channel, address))
      return [
        { chatId: id, channel, name: named.get(id)?.name ?? capabilitiesOf(channel).label, group: null, members: null },
      ];
    const group = groups.find((each) => each.channel === channel && each.chat_id === id && isAnswered(each));
    return group ? [{ chatId: id, channel, name: group.name, group, members: group.members }] : [];
  });
}

/** The other chats in which something is scheduled. */
export async function placesWithCrons(db: Db, except: string): Promise<Place[]> {
  const rows = await db.selectFrom('crons').select('chat_id').distinct().where('chat_id', '!=', except).execute();
  const chats = new Set(rows.map(({ chat_id }) => chat_id));
  return (await listPlaces(db)).filter(({ chatId }) => chats.has(chatId));
}

interface NamedPlace {
  name: string;
  channel: Channel;
  members?: number | null;
}

/** `Family (Telegram, 5 members)`: what tells two of one name apart, as far as it is known. */
export const wholeName = ({ name, channel, members }: NamedPlace): string =>
  `${inline(name, 80)} (${[capabilitiesOf(channel).label, ...(members == null ? [] : [english('groups.members', { count: members })])].join(', ')})`;

/** The word for its members is that of any language. */
const comparable = (name: string): string => name.toLowerCase().replace(/(, \d+) [\p{L}\p{M}]+\)$/u, '$1)');

/** Those that a name means; `Family (Telegram)` and the whole name mean fewer. */
export function namedPlaces<T extends NamedPlace>(all: readonly T[], wanted: string): T[] {
  const said = wanted.trim().toLowerCase();
  const compared = comparable(said);
  const exact = all.filter((each) =>
    [each.name, wholeName({ ...each, members: null }), wholeName(each)].some((name) => comparable(name) === compared),
  );
  return exact.length > 0 ? exact : all.filter(({ name }) => said.length > 2 && name.toLowerCase().startsWith(said));
}

/** The people of a channel who have this name or number, by their ids in identities. */
export async function peopleNamed(db: Db | Tx, { channel, chat_id }: Group, name: string): Promise<string[]> {
  const digits = name.replace(/[\s()+./-]/g, '');
  if (/^\d{7,15}$/.test(digits)) return [digits];
  const found =
    channel === 'telegram'
      ? await sql<{ id: string }>`
          select 'telegram/' || user_id as id from tg_people where lower(name) = lower(${name})
          union select person from group_talk where chat_id = ${chat_id} and person is not null and lower(author) = lower(${name})`.execute(
          db,
        )
      : await sql<{ id: string }>`
          select coalesce(split_part(pn, '@', 1), lid) as id from wa_contacts where lower(name) = lower(${name}) and coalesce(pn, lid) is not null
          union select person from group_talk where chat_id = ${chat_id} and person is not null and lower(author) = lower(${name})`.execute(
          db,
        );
  return found.rows.map(({ id }) => id);
}

/** Groups as a list shows them. `only`: the one of this chat. */
export async function listedGroups(
  db: Db | Tx,
  { FETCH_TRIGGER }: { FETCH_TRIGGER: string },
  only: string | null = null,
  say: Say = english,
) {
  const groups = (await listGroups(db)).filter(
    ({ chat_id, left_at }) => left_at === null && (only === null || chat_id === only),
  );
  const listed = groups.map(async (group) => {
    const { name, channel, members, folder, rule } = group;
    const answered = isAnswered(group);
    const people = Array.isArray(rule.who) ? [...(await peopleNames(db, rule.who)).values()] : [];
    const about = [
      capabilitiesOf(channel).label,
      ...(members === null ? [] : [say('groups.members', { count: members })]),
      ...(answered
        ? [
            whenInWords(rule, FETCH_TRIGGER, say),
            say('groups.from', { who: whoInWords(rule, people, say) }),
            ...(folder ? [say('groups.folder', { name: folder })] : []),
          ]
        : [say('groups.unanswered')]),
    ];
    return { line: `- ${inline(name, 80)}: ${about.join('; ')}`, name, channel, members, answered, folder };
  });
  return await Promise.all(listed);
}
