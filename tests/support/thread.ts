import type { Sink } from '../../src/contracts/taint.ts';
import { createThread, type NewThread } from '../../src/store/chats/threads/threads.ts';
import type { Db } from '../../src/store/postgres/database.ts';

/** The id of the workflow that owns the chat of a thread. */
export async function workflowOfThread(db: Db, thread: string): Promise<string> {
  const query = db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('chats.workflow_id')
    .where('threads.id', '=', thread);
  return (await query.executeTakeFirstOrThrow()).workflow_id;
}

/** A thread of the API, unless something else is named, in a database without an instance. */
export async function newThread(db: Db, named: Partial<NewThread> = {}): Promise<{ threadId: string; chatId: string }> {
  const { id } = await createThread(db, {
    channel: 'api',
    model: 'm',
    workspace: '/',
    mode: 'agent',
    allow_shell: false,
    trust_mode: false,
    auto_approve: false,
    archived: false,
    autonomy: 'cautious',
    chatKey: (address) => address,
    ...named,
  });
  const { chat_id } = await db.selectFrom('threads').select('chat_id').where('id', '=', id).executeTakeFirstOrThrow();
  return { threadId: id, chatId: chat_id };
}

/** As `yes always for …` does: calls with these sinks need no yes in the chat of this thread. */
export async function allowForGood(db: Db, thread: string, ...sinks: Sink[]): Promise<void> {
  const { chat_id } = await db
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', thread)
    .executeTakeFirstOrThrow();
  const grants = sinks.map((sink) => ({ chat_id, sink, question_id: null }));
  await db.insertInto('sink_grants').values(grants).execute();
}
