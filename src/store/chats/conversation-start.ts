import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/**
 * What belongs to one conversation is named after its thread and its beginning: `/new` begins another one in the same
 * thread.
 */
export async function conversationOf(db: Db, threadId: string): Promise<string> {
  const { upto } = await db
    .selectFrom('summaries')
    .select((e) => e.fn.coalesce(e.fn.max('upto'), sql<number>`0`).as('upto'))
    .where('thread_id', '=', threadId)
    .where('body', '=', '')
    .executeTakeFirstOrThrow();
  return `${threadId}/${upto}`;
}

/** False when another one has begun in its thread since. */
export const isCurrentConversation = async (db: Db, conversation: string): Promise<boolean> =>
  (await conversationOf(db, conversation.slice(0, conversation.lastIndexOf('/')))) === conversation;
