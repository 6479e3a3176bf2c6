import { sql } from 'kysely';
import type { Autonomy } from '../../contracts/conversation.ts';
import type { Db } from '../postgres/database.ts';

/** How much chats may do without asking, and who writes in them. */

interface TrustRow {
  thread_id: string;
  autonomy: Autonomy;
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
    select threads.id as thread_id, chats.autonomy, threads.auto_approve, threads.updated_at as last_active_at,
      coalesce((select array_agg(sink order by sink) from sink_grants where sink_grants.chat_id = chats.id), '{}') as grants
    from threads cross join lateral (select id, autonomy from chats where chats.id = threads.chat_id limit 1) as chats
    where threads.deleted_at is null and not threads.archived and not exists (
      select from threads as later where later.chat_id = threads.chat_id and (later.updated_at, later.id) > (threads.updated_at, threads.id))
    order by threads.updated_at desc, threads.id limit ${limit}`.execute(db);
  return rows;
}

/** The groups that WhatsApp told of, each with its thread where somebody has written to us there. */
export async function listGroups(
  db: Db,
  account: string,
  limit: number,
): Promise<Array<{ name: string; members: number | null; thread_id: string | null }>> {
  const { rows } = await sql<{ name: string; members: number | null; thread_id: string | null }>`
    select coalesce(metadata ->> 'subject', jid) as name, jsonb_array_length(metadata -> 'participants') as members,
      (select threads.id from chats join threads on threads.chat_id = chats.id where chats.channel = 'whatsapp' and chats.address = jid
        order by threads.updated_at desc limit 1) as thread_id
    from wa_groups where account = ${account} order by lower(metadata ->> 'subject'), jid limit ${limit}`.execute(db);
  return rows;
}
