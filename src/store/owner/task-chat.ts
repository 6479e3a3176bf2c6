import { sql } from 'kysely';
import type { ChatOfRun } from '../../contracts/kennel.ts';
import type { Task } from '../kennel/tasks/tasks.ts';
import type { Db } from '../postgres/database.ts';
import { memoryOwner } from './memories.ts';

interface Names {
  OWNER_PHONE_NUMBER?: string | undefined;
  FETCH_TRIGGER: string;
}

/** The chat of a task as an agent of NanoClaw knows it. */
export async function chatOfTask(db: Db, config: Names, task: Task): Promise<ChatOfRun> {
  const { rows } = await sql<{ address: string | null; scheduled: boolean }>`
    select chats.address, exists (
      select 1 from calls join turns on turns.id = calls.turn_id where calls.id = ${task.call_id} and turns.run_id is not null) as scheduled
    from chats where chats.id = ${task.chat_id}`.execute(db);
  const [row] = rows;
  return {
    jid: row?.address ?? task.chat_id,
    folder: task.workspace,
    // what only the owner reads is the owner's
    main: (await memoryOwner(db, task.chat_id, config)) !== task.chat_id,
    scheduled: row?.scheduled === true,
    assistant: config.FETCH_TRIGGER.replace(/^@/, ''),
  };
}

/** The groups of the linked accounts, the one with the latest message first. */
export async function availableGroups(
  db: Db,
): Promise<Array<{ jid: string; name: string; lastActivity: string; isRegistered: boolean }>> {
  const { rows } = await sql<{ jid: string; name: string; last: Date; registered: boolean }>`
    select distinct on (jid) jid, coalesce(metadata ->> 'subject', jid) as name,
      coalesce(threads.updated_at, wa_groups.fetched_at) as last, threads.id is not null as registered
    from wa_groups left join chats on chats.channel = 'whatsapp' and chats.address = jid left join threads on threads.chat_id = chats.id
    order by jid, threads.updated_at desc nulls last limit 1000`.execute(db);
  return rows
    .sort((a, b) => b.last.getTime() - a.last.getTime())
    .map(({ jid, name, last, registered }) => ({
      jid,
      name,
      lastActivity: last.toISOString(),
      isRegistered: registered,
    }));
}
