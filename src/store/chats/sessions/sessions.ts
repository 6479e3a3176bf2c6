import { sql } from 'kysely';
import type { Autonomy } from '../../../contracts/conversation.ts';
import type { Channel } from '../../../contracts/ids.ts';
import type { Profile } from '../../../contracts/workspace-ops.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { UNTITLED } from '../threads/thread-summaries.ts';
import { countMessages, messagesOf } from './session-messages.ts';

/**
 * A thread as the status API shows it: a session. Threads that were deleted as sessions are none until somebody uses
 * them again.
 */
export interface SessionRow {
  id: string;
  channel: Channel;
  /** of the chat on its channel */
  address: string;
  /** JID with the phone number of a WhatsApp chat, where it is known */
  phone: string | null;
  project: string | null;
  /** as it was set */
  title: string | null;
  /** the beginning of the first message that was ever written there */
  begun_with: string | null;
  model: string;
  mode: string;
  /** the folder that the thread was made with */
  workspace: string;
  /** the thread that it was copied from */
  forked_from: string | null;
  messages: number;
  created_at: Date;
  updated_at: Date;
}

export interface SessionMessage {
  role: 'user' | 'assistant' | 'tool';
  content: string;
  /** ISO 8601 */
  timestamp: string;
  /** of the model step that said it or made the call */
  ord: number;
  /** the call whose result it is */
  call: { id: string; name: string; input: Record<string, unknown>; ok: boolean } | null;
}

export interface SessionDetail extends Omit<SessionRow, 'messages'> {
  messages: SessionMessage[];
  system_prompt: string | null;
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
const PHONE = sql<
  string | null
>`(select pn from wa_contacts where chat_address = chats.address and pn is not null order by id limit 1)`;

/** What both readers show of a thread and its chat. */
const HEAD = sql`threads.id, chats.channel, chats.address, ${PHONE} as phone, chats.workspace as project, threads.title, first.input_summary as begun_with,
  threads.model, threads.mode, threads.workspace, threads.forked_from, threads.created_at, threads.updated_at`;

const SESSIONS = sql`threads join chats on chats.id = threads.chat_id
  left join lateral (select input_summary from turns where thread_id = threads.id and input_summary <> '' order by created_at limit 1) as first on true`;

/** Latest activity first. `search`: part of a title, in any case. */
export async function listSessions(db: Db, limit: number, search = ''): Promise<SessionRow[]> {
  const { rows } = await sql<Omit<SessionRow, 'messages'>>`
    select ${HEAD} from ${SESSIONS}
    where threads.deleted_at is null and position(lower(${search}) in lower(coalesce(threads.title, first.input_summary, ${UNTITLED}))) > 0
    order by threads.updated_at desc, threads.id limit ${limit}`.execute(db);
  const messages = await countMessages(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => ({ ...row, messages: messages.get(row.id) ?? 0 }));
}

/** One session in full, or null. */
export async function readSession(db: Db, id: string): Promise<SessionDetail | null> {
  const session = await sessionWithoutMessages(db, id);
  return session && { ...session, messages: await readMessages(db, id) };
}

export async function sessionWithoutMessages(db: Db, id: string): Promise<Omit<SessionDetail, 'messages'> | null> {
  const { rows } = await sql<Omit<SessionDetail, 'messages'>>`
    select ${HEAD}, threads.system_prompt, chats.autonomy, chats.workspace_host as "projectHost", workspaces.path as "projectPath", workspaces.profile,
      (select tasks.id from tasks where tasks.thread_id = threads.id and ended_at is null order by created_at desc limit 1) as task
    from ${SESSIONS}
      left join workspaces on workspaces.host = chats.workspace_host and workspaces.name = chats.workspace
    where threads.id = ${id} and threads.deleted_at is null`.execute(db);
  return rows[0] ?? null;
}

async function readMessages(db: Db, id: string): Promise<SessionMessage[]> {
  const { rows } = await sql<Omit<SessionMessage, 'timestamp'> & { at: Date }>`
    select ord, role, content, at, call from
      (select *, sum(octet_length(content)) over (order by ord desc, place desc) as bytes from (${messagesOf(sql`${id}`)}) as message) as sized
    where bytes <= ${MOST_BYTES} order by ord, place`.execute(db);
  return rows.map(({ at, ...message }) => ({ ...message, timestamp: at.toISOString() }));
}

/** What the turns of threads used, and how long they took. */
export interface SessionFigures {
  tokens: number;
  micro_usd: number;
  /** of coding tasks */
  task_micro_usd: number;
  seconds: number;
}

export async function sessionFigures(db: Db, ids: readonly string[]): Promise<Map<string, SessionFigures>> {
  const { rows } = await sql<SessionFigures & { id: string }>`
    select given.id, used.tokens, used.micro_usd, used.seconds,
      (select coalesce(sum(task_usage.micro_usd), 0)::float8 from tasks join task_usage on task_usage.task_id = tasks.id
        where tasks.chat_id = (select chat_id from threads where id = given.id) and tasks.thread_id = given.id) as task_micro_usd
    from unnest(${[...ids]}::text[]) as given (id) cross join lateral (
      select coalesce(sum(steps.input_tokens + steps.output_tokens), 0)::float8 as tokens, coalesce(sum(steps.micro_usd), 0)::float8 as micro_usd,
        (select coalesce(sum(extract(epoch from ended_at - started_at)), 0)::float8 from turns where thread_id = given.id) as seconds
      from turns join steps on steps.turn_id = turns.id where turns.thread_id = given.id) as used`.execute(db);
  return new Map(rows.map(({ id, ...figures }) => [id, figures]));
}

/** Whether there is a session of this id. */
export const isSession = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx
    .selectFrom('threads')
    .select('id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()) !== undefined;

/** Sessions in which nothing has happened since, the oldest first. */
export const idleSessions = async (db: Db, before: Date, limit: number): Promise<string[]> =>
  (
    await db
      .selectFrom('threads')
      .select('id')
      .where('deleted_at', 'is', null)
      .where('updated_at', '<', before)
      .orderBy('updated_at')
      .limit(limit)
      .execute()
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
