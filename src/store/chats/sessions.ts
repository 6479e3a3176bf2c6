import { sql } from 'kysely';
import type { Autonomy } from '../../contracts/conversation.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { Profile } from '../../contracts/workspace-ops.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { countMessages, messagesOf } from './session-messages.ts';

/** A thread as the status API shows it: a session. Threads that were deleted as sessions are none until somebody uses them again. */
export interface SessionRow {
  id: string;
  channel: Channel;
  /** of the chat on its channel */
  address: string;
  /** JID with the phone number of a WhatsApp chat, where it is known */
  phone: string | null;
  project: string | null;
  messages: number;
  created_at: Date;
  updated_at: Date;
}

export interface SessionMessage {
  role: 'user' | 'assistant' | 'tool';
  content: string;
  /** ISO 8601 */
  timestamp: string;
}

export interface SessionDetail extends Omit<SessionRow, 'messages'> {
  messages: SessionMessage[];
  title: string | null;
  model: string;
  mode: string;
  autonomy: Autonomy;
  projectHost: string | null;
  projectPath: string | null;
  profile: Profile | null;
  /** the newest coding task that is not over */
  task: string | null;
}

/** Most text of one session; older messages are left out. */
const MOST_BYTES = 16 * 1024 * 1024;

/** A chat's address may be a LID, which is no phone number. */
const PHONE = sql<string | null>`(select pn from wa_contacts where chat_address = chats.address and pn is not null order by id limit 1)`;

/** Latest activity first. */
export async function listSessions(db: Db, limit: number): Promise<SessionRow[]> {
  const { rows } = await sql<Omit<SessionRow, 'messages'>>`
    select threads.id, chats.channel, chats.address, ${PHONE} as phone, chats.workspace as project, threads.created_at, threads.updated_at
    from threads join chats on chats.id = threads.chat_id
    where threads.deleted_at is null order by threads.updated_at desc, threads.id limit ${limit}`.execute(db);
  const messages = await countMessages(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => ({ ...row, messages: messages.get(row.id) ?? 0 }));
}

/** One session in full, or null. */
export async function readSession(db: Db, id: string): Promise<SessionDetail | null> {
  const { rows } = await sql<Omit<SessionDetail, 'messages'>>`
    select threads.id, chats.channel, chats.address, ${PHONE} as phone, chats.workspace as project, threads.created_at, threads.updated_at,
      threads.title, threads.model, threads.mode, chats.autonomy, chats.workspace_host as "projectHost", workspaces.path as "projectPath", workspaces.profile,
      (select tasks.id from tasks where tasks.thread_id = threads.id and ended_at is null order by created_at desc limit 1) as task
    from threads join chats on chats.id = threads.chat_id
      left join workspaces on workspaces.host = chats.workspace_host and workspaces.name = chats.workspace
    where threads.id = ${id} and threads.deleted_at is null`.execute(db);
  return rows[0] ? { ...rows[0], messages: await readMessages(db, id) } : null;
}

async function readMessages(db: Db, id: string): Promise<SessionMessage[]> {
  const { rows } = await sql<Omit<SessionMessage, 'timestamp'> & { at: Date }>`
    select role, content, at from
      (select *, sum(octet_length(content)) over (order by ord desc, place desc) as bytes from (${messagesOf(sql`${id}`)}) as message) as sized
    where bytes <= ${MOST_BYTES} order by ord, place`.execute(db);
  return rows.map(({ at, ...message }) => ({ ...message, timestamp: at.toISOString() }));
}

/** Whether there is a session of this id. */
export const isSession = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.selectFrom('threads').select('id').where('id', '=', id).where('deleted_at', 'is', null).executeTakeFirst()) !== undefined;

/** Sessions in which nothing has happened since, the oldest first. */
export const idleSessions = async (db: Db, before: Date, limit: number): Promise<string[]> =>
  (
    await db.selectFrom('threads').select('id').where('deleted_at', 'is', null).where('updated_at', '<', before).orderBy('updated_at').limit(limit).execute()
  ).map(({ id }) => id);

/** The newest coding task of a thread that is not over. */
export const openTask = async (tx: Tx, threadId: string): Promise<string | null> =>
  (
    await tx
      .selectFrom('tasks')
      .select('id')
      .where('thread_id', '=', threadId)
      .where('ended_at', 'is', null)
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.id ?? null;

/** Takes a thread out of the sessions. The next turn in it makes it a session again. */
export async function markDeleted(tx: Tx, id: string): Promise<void> {
  await tx.updateTable('threads').set({ deleted_at: new Date() }).where('id', '=', id).execute();
}
