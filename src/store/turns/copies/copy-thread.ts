import { type Selectable, sql } from 'kysely';
import { isGroupChat } from '../../../contracts/channels.ts';
import type { ThreadRecord } from '../../../contracts/records.ts';
import { derivedId, freshId } from '../../chats/ids.ts';
import type { RequestKey } from '../../chats/request-keys.ts';
import { lockThread, onThread, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { insertThread, type NewThread, threadOfKey, toThreadRecord } from '../../chats/threads/threads.ts';
import { type Db, NoThread } from '../../postgres/database.ts';
import type { ThreadTable } from '../../schema/tables/chats.ts';
import { remember } from '../steps/transcript.ts';
import { copyDialogue, dropFrom } from './copy-dialogue.ts';

/**
 * What is said in a group stays there: in a copy nobody could tell any more whose words an answer to a question has.
 */
export class GroupThread extends Error {
  constructor(id: string) {
    super(`Thread ${id} is a group chat, and what its members said stays there`);
    this.name = 'GroupThread';
  }
}

export interface ThreadCopy {
  source: string;
  /** of the new thread, from those of the source */
  settings(
    source: Selectable<ThreadTable>,
  ): Omit<NewThread, 'channel' | 'address' | 'archived' | 'autonomy' | 'chatKey' | 'forked_from'>;
  chatKey: NewThread['chatKey'];
  /** the copy ends before this turn of the source */
  before?: string;
  /** the same key gives the same copy */
  key?: RequestKey;
  /** adds the events that tell of the copy; `made`: before its dialogue was there */
  announce(tx: ThreadTransaction, copied: { made: ThreadRecord; thread: ThreadRecord; sourceId: string }): void;
}

/**
 * Makes a sibling of an API thread, with all that was said and done in the source as it is now, and with the source's
 * active workspace. A turn that runs in the source ends as interrupted in the copy. Steps are not copied, so no usage
 * counts twice. @throws KeyReused, NoThread, GroupThread
 */
export async function copyThread(db: Db, copy: ThreadCopy): Promise<ThreadRecord> {
  const { source: sourceId } = copy;
  return await onThread(db, sourceId, async ({ now, chatId }) => {
    const id = freshId('thr_');
    const before = await threadOfKey(now, copy.key, id);
    if (before) return before;
    const source = await now.selectFrom('threads').selectAll().where('id', '=', sourceId).executeTakeFirst();
    if (!source) throw new NoThread(sourceId);
    const chat = await now.selectFrom('chats').selectAll().where('id', '=', chatId).executeTakeFirstOrThrow();
    if (isGroupChat(chat.channel, chat.address)) throw new GroupThread(sourceId);
    const running = await now
      .selectFrom('turns')
      .select('id')
      .where('thread_id', '=', sourceId)
      .where('status', '=', 'in_progress')
      .executeTakeFirst();
    const { chatKey } = copy;
    const made = await insertThread(now, id, {
      ...copy.settings(source),
      channel: 'api',
      archived: false,
      autonomy: chat.autonomy,
      chatKey,
      forked_from: sourceId,
    });
    await copyDialogue(now, { from: sourceId, to: id });
    if (copy.before !== undefined) await dropFrom(now, { to: id, turnId: copy.before });
    await sql`update chats set workspace = source.workspace, workspace_host = source.workspace_host, preferences = source.preferences
      from chats as source where source.id = ${chatId} and chats.id = (select chat_id from threads where id = ${id})`.execute(
      now,
    );
    const latest = sql<string>`(select id from turns where thread_id = ${id} order by created_at desc, id desc limit 1)`;
    const families = source.families && JSON.stringify(source.families);
    const row = await now
      .updateTable('threads')
      .set({ latest_turn_id: latest, families })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const tx = await lockThread(now, id);
    // without it, the model would take up what the turn in the source still does
    if (running && copy.before === undefined)
      remember(tx, {
        id: derivedId('msg_', id, 'copied'),
        turnId: derivedId('turn_', id, running.id),
        role: 'assistant',
        content: '[This goes on in the conversation that this one was copied from. Here it ends.]',
      });
    copy.announce(tx, { made, thread: toThreadRecord(row), sourceId });
    await tx.sendPending();
    return toThreadRecord(row);
  });
}

/** A turn that began with words of a person. */
export interface SaidTurn {
  id: string;
  created_at: Date;
  model: string | null;
  mode: string | null;
  text: string;
}

/** `depth`: how many such turns came after it. */
export async function saidTurn(db: Db, threadId: string, depth: number): Promise<SaidTurn | undefined> {
  const { rows } = await sql<SaidTurn>`
    select turns.id, turns.created_at, turns.model, turns.mode, said.text
    from turns cross join lateral (select coalesce(detail, summary) as text from items
      where turn_id = turns.id and kind = 'user_message' order by ord limit 1) as said
    where turns.thread_id = ${threadId} and turns.call is null order by turns.created_at desc, turns.id desc offset ${depth}::int limit 1`.execute(
    db,
  );
  return rows[0];
}
