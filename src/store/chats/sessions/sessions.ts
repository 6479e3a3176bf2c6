import { type RawBuilder, sql } from 'kysely';
import type { Autonomy } from '../../../contracts/conversation.ts';
import type { Channel } from '../../../contracts/ids.ts';
import type { Profile } from '../../../contracts/workspace-ops.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { UNTITLED } from '../threads/thread-summaries.ts';

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

/** The columns of a thread and its chat that both readers show. */
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

/** Usage and duration of the turns of threads. */
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

/** The messages of a session: what was said since the conversation began, and what tools answered. */

/** Where the conversation of a thread began: an `ord` of the transcript. */
const begunOf = (threadId: RawBuilder<string>) =>
  sql<number>`(select coalesce(max(upto), 0) from summaries where thread_id = ${threadId} and body = '')`;

/**
 * The messages after an `ord`, and with each result of a tool its call. A call that has not ended is no message yet.
 */
const messagesAfter = (threadId: RawBuilder<string>, ord: RawBuilder<number>) => sql`
  with said as (select ord, role, content, call_ids, created_at from transcript where thread_id = ${threadId} and ord > ${ord})
  select ord, 0 as place, role, content, created_at as at, null as call from said where content <> ''
  union all
  select said.ord, made.place, 'tool', coalesce(calls.output, ''), coalesce(calls.ended_at, said.created_at),
      jsonb_build_object('id', calls.id, 'name', calls.name, 'input', calls.args, 'ok', coalesce(calls.ok, true))
    from said cross join lateral jsonb_array_elements_text(said.call_ids) with ordinality as made (id, place)
    join calls on calls.id = made.id and calls.state = 'done'`;

/** In order. */
const messagesOf = (threadId: RawBuilder<string>) => messagesAfter(threadId, begunOf(threadId));

/** Counted again at each request, at most. */
const COUNTED_EACH_TIME = 50;

const THREAD = sql.ref<string>('wanted.thread_id');

/**
 * The number of messages of each thread. The part of a conversation that can no longer change is counted once and kept,
 * so that the number of messages makes no difference.
 */
export async function countMessages(db: Db, threadIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; kept: number; later: number }>`
    select wanted.thread_id as id, coalesce(counts.messages, 0) as kept,
      (select count(*) from (${messagesAfter(THREAD, sql`coalesce(counts.upto, wanted.begun)`)}) as message) as later
    from (${withBeginning(threadIds)}) as wanted
      left join session_counts as counts on counts.thread_id = wanted.thread_id and counts.begun = wanted.begun`.execute(
    db,
  );
  const many = rows.filter(({ later }) => Number(later) > COUNTED_EACH_TIME).map(({ id }) => id);
  if (many.length > 0) await keepCounts(db, many);
  return new Map(rows.map(({ id, kept, later }) => [id, Number(kept) + Number(later)]));
}

const withBeginning = (threadIds: readonly string[]) =>
  sql`select thread_id, ${begunOf(sql.ref('given.thread_id'))} as begun from unnest(${[...threadIds]}::text[]) as given (thread_id)`;

/**
 * Keeps the counts of threads in which no turn is at work and no call is open. In others, messages may still change.
 */
async function keepCounts(db: Db, threadIds: readonly string[]): Promise<void> {
  await sql`
    insert into session_counts (thread_id, begun, upto, messages)
    select wanted.thread_id, wanted.begun, (select coalesce(max(ord), 0) from transcript where thread_id = wanted.thread_id),
      (select count(*) from (${messagesOf(THREAD)}) as message)
    from (${withBeginning(threadIds)}) as wanted
    where not exists (select from turns where thread_id = wanted.thread_id and status = 'in_progress')
      and not exists (
        select from transcript cross join lateral jsonb_array_elements_text(transcript.call_ids) as made (id) join calls on calls.id = made.id
        where transcript.thread_id = wanted.thread_id and transcript.ord > wanted.begun and calls.state <> 'done')
    on conflict (thread_id) do update set begun = excluded.begun, upto = excluded.upto, messages = excluded.messages`.execute(
    db,
  );
}
