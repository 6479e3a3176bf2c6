import { sql } from 'kysely';
import { capabilitiesOf, isGroupChat } from '../../../contracts/channels.ts';
import type { TrustLevel } from '../../../contracts/conversation.ts';
import type { Channel } from '../../../contracts/ids.ts';
import type { OwnerChat } from '../../../contracts/owner.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { talkers } from '../../chats/groups.ts';
import type { Db, Tx } from '../../postgres/database.ts';

/** What the owner's page calls chats. */

const NAME_CHARS = 80;

interface NameRow {
  id: string;
  channel: string;
  address: string;
  title: string | null;
  person: string | null;
  subject: string | null;
  begun: string | null;
}

/**
 * Chats of these threads, by the id of the thread. Unknown ids are left out. Each chat is looked up by its id (`limit
 * 1`), because a join may read all of them.
 */
export async function chatsOfThreads(db: Db | Tx, threadIds: readonly string[]): Promise<Map<string, OwnerChat>> {
  const ids = [...new Set(threadIds)];
  if (ids.length === 0) return new Map();
  const { rows } = await sql<NameRow>`
    select threads.id, chats.channel, chats.address, threads.title,
      coalesce(
        (select coalesce(name, '+' || split_part(pn, '@', 1)) from wa_contacts where chat_address = chats.address order by id limit 1),
        (select name from tg_people where chats.channel = 'telegram' and user_id::text = split_part(chats.address, '/', 1))) as person,
      coalesce((select metadata ->> 'subject' from wa_groups where jid = chats.address limit 1),
        (select name from groups where groups.channel = chats.channel and groups.address = split_part(chats.address, '/', 1))) as subject,
      (select left(input_summary, ${NAME_CHARS * 2}) from turns where turns.id = threads.latest_turn_id) as begun
    from threads cross join lateral (select channel, address from chats where chats.id = threads.chat_id limit 1) as chats
    where threads.id = any(${ids})`.execute(db);
  return new Map(rows.map((row) => [row.id, toChat(row)]));
}

function toChat({ id, channel, address, title, person, subject, begun }: NameRow): OwnerChat {
  const { screen, label } = capabilitiesOf(channel);
  // threads of clients have nothing but what was said last
  const name = title ?? subject ?? person ?? (screen === 'client' ? begun : null) ?? label;
  return { thread_id: id, channel, name: inline(name, NAME_CHARS) || label, group: isGroupChat(channel, address) };
}

/** The same by the id of the chat: each with the thread that was used last. */
export async function chatsOfIds(db: Db | Tx, chatIds: readonly string[]): Promise<Map<string, OwnerChat>> {
  const ids = [...new Set(chatIds)];
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ chat_id: string; id: string }>`
    select wanted.id as chat_id, latest.id from unnest(${ids}::text[]) as wanted (id)
    cross join lateral (select id from threads where chat_id = wanted.id order by updated_at desc limit 1) as latest`.execute(
    db,
  );
  const named = await chatsOfThreads(
    db,
    rows.map(({ id }) => id),
  );
  return new Map(rows.map(({ chat_id, id }) => [chat_id, named.get(id)!]));
}

/** The same for lists of operators, which show no number of a phone. */
export const nameWithoutNumber = ({ name, channel }: Pick<OwnerChat, 'name' | 'channel'>): string =>
  /^\+?[\d\s().-]{5,}$|@/.test(name) ? `somebody on ${capabilitiesOf(channel).label}` : name;

/** How much chats may do without asking, and who writes in them. */

interface TrustRow {
  thread_id: string;
  autonomy: TrustLevel;
  auto_approve: boolean;
  grants: string[];
  last_active_at: Date;
}

/**
 * The latest active first. Each chat is looked up by its id (`limit 1`), because a join may read all of them. An API
 * thread is its own chat; of another chat this is the thread that was used last.
 */
export async function listTrust(db: Db, limit: number): Promise<TrustRow[]> {
  const { rows } = await sql<TrustRow>`
    select threads.id as thread_id, case when judged and autonomy = 'cautious' then 'judged' else autonomy end as autonomy, threads.auto_approve, threads.updated_at as last_active_at,
      coalesce((select array_agg(sink order by sink) from sink_grants where sink_grants.chat_id = chats.id), '{}') ||
        coalesce((select array_agg(label || ' in ' || workspace order by label) from action_kinds
          where action_kinds.chat_id = chats.id and allowed_at is not null), '{}') as grants
    from threads cross join lateral (select id, autonomy, judged from chats where chats.id = threads.chat_id limit 1) as chats
    where threads.deleted_at is null and not threads.archived and not exists (
      select from threads as later where later.chat_id = threads.chat_id and (later.updated_at, later.id) > (threads.updated_at, threads.id))
    order by threads.updated_at desc, threads.id limit ${limit}`.execute(db);
  return rows;
}

/** What people are called, by their digits or their id at Telegram: `Ann`, else `+15550001111`. */
export async function peopleNames(db: Db | Tx, ids: readonly string[]): Promise<Map<string, string>> {
  const wanted = [...new Set(ids)];
  if (wanted.length === 0) return new Map();
  const { rows } = await sql<{ id: string; name: string | null }>`
    select wanted.id, coalesce(
      (select name from wa_contacts where pn = wanted.id || '@s.whatsapp.net' and name is not null order by id limit 1),
      (select name from tg_people where 'telegram/' || user_id = wanted.id)) as name
    from unnest(${wanted}::text[]) as wanted (id)`.execute(db);
  return new Map(
    rows.map(({ id, name }) => [id, name ? inline(name, NAME_CHARS) : id.includes('/') ? 'Telegram' : `+${id}`]),
  );
}

/** Names of the members of a group, as far as they are known: people whom a channel has named, and those who wrote. */
export async function namesIn(
  db: Db | Tx,
  { channel, address }: { channel: Channel; address: string },
  chatId: string,
): Promise<string[]> {
  const written = await talkers(db, chatId);
  if (channel !== 'whatsapp') return written;
  const { rows } = await sql<{ name: string }>`
    select distinct name from wa_contacts where name is not null and exists (
      select from wa_groups, jsonb_array_elements(metadata -> 'participants') as member where jid = ${address}
        and (member ->> 'id' in (pn, lid) or member ->> 'phoneNumber' = pn or member ->> 'lid' = lid))
    order by name limit 100`.execute(db);
  return [...new Set([...rows.map(({ name }) => inline(name, 60)), ...written])];
}

/** A group as the page lists it. */
interface GroupRow {
  name: string;
  channel: Channel;
  members: number | null;
  /** where somebody has written to us */
  thread_id: string | null;
  answered: boolean;
}

/** The groups that the account is in, by name; of those that WhatsApp has told of, the members are counted. */
export async function listGroups(db: Db, account: string, limit: number): Promise<GroupRow[]> {
  const { rows } = await sql<GroupRow>`
    with known as (
      select channel, address, name, members, registered_at is not null and paused_at is null as answered from groups where left_at is null
      union all
      select 'whatsapp', jid, coalesce(metadata ->> 'subject', 'Group without a name'), null, false from wa_groups
        where account = ${account} and not exists (select from groups where channel = 'whatsapp' and address = jid))
    select name, channel, answered,
      coalesce((select jsonb_array_length(metadata -> 'participants') from wa_groups where account = ${account} and jid = address), members) as members,
      (select threads.id from chats join threads on threads.chat_id = chats.id where chats.channel = known.channel and chats.address = known.address
        order by threads.updated_at desc limit 1) as thread_id
    from known order by lower(name), channel, address limit ${limit}`.execute(db);
  return rows;
}
