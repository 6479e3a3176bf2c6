import { capabilitiesOf } from '../../../contracts/channels.ts';
import type { Channel } from '../../../contracts/ids.ts';
import type { Db } from '../../postgres/database.ts';

/** `of`: the id of the turn or coding task. Reports of one replace each other. */
export interface ProgressReport {
  chatId: string;
  threadId: string;
  of: string;
  text: string;
}

/** A progress report for a channel without our screen; null when screens already show everything. */
export async function recordProgress(
  db: Db,
  { chatId, threadId, of, text }: ProgressReport,
): Promise<{ outboxId: string; channel: Channel; workflowId: string } | null> {
  const chat = await db
    .selectFrom('chats')
    .select(['channel', 'workflow_id'])
    .where('id', '=', chatId)
    .executeTakeFirst();
  if (!chat || capabilitiesOf(chat.channel).screen) return null;
  const outboxId = `out_${of}_progress_${Date.now().toString(36)}`;
  // two reports within one ms say the same
  const values = {
    id: outboxId,
    chat_id: chatId,
    thread_id: threadId,
    turn_id: of,
    kind: 'progress' as const,
    unasked: 'progress' as const,
    body: text,
  };
  await db
    .insertInto('outbox')
    .values(values)
    .onConflict((c) => c.doNothing())
    .execute();
  return { outboxId, channel: chat.channel, workflowId: chat.workflow_id };
}
