import type { TurnStatus, TurnUsage } from '../../../contracts/records.ts';
import type { Db } from '../../postgres/database.ts';
import { type RequestKey, takeForThread } from '../request-keys.ts';

/** Sessions of programs that call tools: each is a chat of the API with a few threads, and each request is a turn. */

export interface SessionThread {
  id: string;
  archived: boolean;
  /** a turn runs or waits in it */
  busy: boolean;
}

/** The threads of a session, in the order in which they were made. */
export const sessionThreads = (db: Db, address: string): Promise<SessionThread[]> =>
  db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select(['threads.id', 'threads.archived'])
    .select((e) =>
      e
        .exists(
          e
            .selectFrom('turns')
            .select('turns.id')
            .whereRef('turns.thread_id', '=', 'threads.id')
            .where('turns.status', '=', 'in_progress'),
        )
        .$castTo<boolean>()
        .as('busy'),
    )
    .where('chats.channel', '=', 'api')
    .where('chats.address', '=', address)
    .orderBy('threads.created_at')
    .orderBy('threads.id')
    .execute();

/**
 * Approvals and questions of a session's turns that wait, oldest first. Questions of coding tasks, pull requests and
 * checks of projects hold up no turn.
 */
export const waitingIn = (db: Db, address: string) =>
  db
    .selectFrom('questions')
    .innerJoin('chats', 'chats.id', 'questions.chat_id')
    .select(['questions.id', 'questions.thread_id', 'questions.turn_id', 'questions.prompt'])
    .where('chats.channel', '=', 'api')
    .where('chats.address', '=', address)
    .where('questions.state', '=', 'open')
    .where('questions.task_id', 'is', null)
    .where('questions.shipment_id', 'is', null)
    .where('questions.id', 'not like', 'bas\\_%')
    .orderBy('questions.asked_at')
    .execute();

/** What a turn asks a person now; null when nothing. */
export const openQuestionOfTurn = async (db: Db, turnId: string): Promise<string | null> =>
  (
    await db
      .selectFrom('questions')
      .select('prompt')
      .where('turn_id', '=', turnId)
      .where('state', '=', 'open')
      .where('task_id', 'is', null)
      .limit(1)
      .executeTakeFirst()
  )?.prompt ?? null;

/** Binds a request to a thread; returns the thread that it was bound to before, else this one. @throws KeyReused */
export const bindRequest = (db: Db, key: RequestKey, threadId: string): Promise<string> =>
  db.transaction().execute(async (tx) => (await takeForThread(tx, key, threadId)) ?? threadId);

/** The thread that a request was bound to; undefined for a request that never came. */
export const threadOfRequest = async (db: Db, key: string): Promise<string | undefined> =>
  (await db.selectFrom('request_keys').select('thread_id').where('key', '=', key).executeTakeFirst())?.thread_id;

/** The turn that a request of this thread became. */
export const turnOfRequest = async (db: Db, threadId: string, key: string): Promise<string | undefined> =>
  (
    await db
      .selectFrom('inbox')
      .innerJoin('threads', 'threads.chat_id', 'inbox.chat_id')
      .select('inbox.turn_id')
      .where('threads.id', '=', threadId)
      .where('inbox.channel_message_id', '=', key)
      .executeTakeFirst()
  )?.turn_id ?? undefined;

export interface TurnOutcome {
  threadId: string;
  status: TurnStatus;
  error: string | null;
  usage: TurnUsage | null;
  /** it consists of a call that a program named */
  named: boolean;
  /** the name by which it called it, when that is no name of ours */
  as: string | null;
  /** its first call */
  call: { ok: boolean; output: string; metadata: Record<string, unknown> | null } | null;
  /** its last answer */
  said: string;
}

/** What a turn has come to so far; undefined when there is no such turn. */
export async function outcomeOfTurn(db: Db, turnId: string): Promise<TurnOutcome | undefined> {
  const turn = await db
    .selectFrom('turns')
    .select(['thread_id', 'status', 'error', 'usage', 'call'])
    .where('id', '=', turnId)
    .executeTakeFirst();
  if (!turn) return undefined;
  const [call, said] = await Promise.all([
    db
      .selectFrom('calls')
      .select(['ok', 'output', 'metadata', 'state'])
      .where('turn_id', '=', turnId)
      .orderBy('step')
      .orderBy('position')
      .limit(1)
      .executeTakeFirst(),
    db
      .selectFrom('items')
      .select(['detail', 'summary'])
      .where('turn_id', '=', turnId)
      .where('kind', '=', 'agent_message')
      .where('status', '=', 'completed')
      .orderBy('ord', 'desc')
      .limit(1)
      .executeTakeFirst(),
  ]);
  const { thread_id: threadId, status, error, usage } = turn;
  const named = turn.call !== null;
  const settled =
    call?.state === 'done' ? { ok: call.ok ?? false, output: call.output ?? '', metadata: call.metadata } : null;
  const as = turn.call?.as ?? null;
  return { threadId, status, error, usage, named, as, call: settled, said: said?.detail ?? said?.summary ?? '' };
}

/** Whether a program may talk in a thread: one of the API that is not put away. */
export async function isProgramThread(db: Db, threadId: string): Promise<boolean> {
  const row = await db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('threads.id')
    .where('threads.id', '=', threadId)
    .where('chats.channel', '=', 'api')
    .where('threads.archived', '=', false)
    .where('threads.deleted_at', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** Conversations that programs have begun, the newest first. */
export const programThreads = (db: Db, keyPrefix: string, limit: number) =>
  db
    .selectFrom('request_keys')
    .innerJoin('threads', 'threads.id', 'request_keys.thread_id')
    .select(['threads.id', 'threads.title', 'threads.updated_at'])
    .where('request_keys.key', 'like', `${keyPrefix}%`)
    .where('threads.archived', '=', false)
    .where('threads.deleted_at', 'is', null)
    .orderBy('threads.updated_at', 'desc')
    .limit(limit)
    .execute();
