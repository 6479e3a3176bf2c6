import { sql } from 'kysely';
import type { ChatOfRun } from '../../contracts/kennel.ts';
import type { Task } from '../kennel/tasks/tasks.ts';
import type { Db } from '../postgres/database.ts';
import { isMainChat } from './memories.ts';

interface Names {
  OWNER_PHONE_NUMBER?: string | undefined;
  FETCH_TRIGGER: string;
  FETCH_ASSISTANT_NAME: string;
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
    main: await isMainChat(db, task.chat_id, config),
    scheduled: row?.scheduled === true,
    assistant: config.FETCH_ASSISTANT_NAME || config.FETCH_TRIGGER.replace(/^@/, ''),
  };
}

/** The groups that the accounts are in, the one with the latest message first. */
export async function availableGroups(
  db: Db,
): Promise<Array<{ jid: string; name: string; lastActivity: string; isRegistered: boolean }>> {
  const { rows } = await sql<{ jid: string; name: string; last: Date; registered: boolean }>`
    select address as jid, name, registered_at is not null and paused_at is null as registered,
      coalesce((select max(threads.updated_at) from threads where threads.chat_id = groups.chat_id), seen_at) as last
    from groups where left_at is null order by last desc limit 1000`.execute(db);
  return rows.map(({ jid, name, last, registered }) => ({
    jid,
    name,
    lastActivity: last.toISOString(),
    isRegistered: registered,
  }));
}
