import { sql } from 'kysely';
import { capabilitiesOf, isGroupChat } from '../../contracts/channels.ts';
import type { OwnerChat } from '../../contracts/owner.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import type { Db } from '../postgres/database.ts';

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
export async function chatsOfThreads(db: Db, threadIds: readonly string[]): Promise<Map<string, OwnerChat>> {
  const ids = [...new Set(threadIds)];
  if (ids.length === 0) return new Map();
  const { rows } = await sql<NameRow>`
    select threads.id, chats.channel, chats.address, threads.title,
      (select coalesce(name, '+' || split_part(pn, '@', 1)) from wa_contacts where chat_address = chats.address order by id limit 1) as person,
      (select metadata ->> 'subject' from wa_groups where jid = chats.address limit 1) as subject,
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
export async function chatsOfIds(db: Db, chatIds: readonly string[]): Promise<Map<string, OwnerChat>> {
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
