import { type Selectable, sql } from 'kysely';
import { isGroupChat } from '../../contracts/channels.ts';
import type { ThreadRecord } from '../../contracts/records.ts';
import { derivedId, freshId, idInCopy } from '../chats/ids.ts';
import type { RequestKey } from '../chats/request-keys.ts';
import { lockThread, onThread, type ThreadTransaction } from '../chats/thread-transaction.ts';
import { insertThread, type NewThread, threadOfKey, toThreadRecord } from '../chats/threads/threads.ts';
import { type Db, NoThread, type Tx } from '../postgres/database.ts';
import type { ThreadTable } from '../schema/tables/chats.ts';
import { UNFINISHED } from './finish.ts';
import { remember } from './steps/transcript.ts';

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
    await sql`update chats set workspace = source.workspace, workspace_host = source.workspace_host, preferences = source.preferences
      from chats as source where source.id = ${chatId} and chats.id = (select chat_id from threads where id = ${id})`.execute(
      now,
    );
    const latest = sql<string>`(select ${idInCopy('turn_', id, 'source.latest_turn_id')} from threads as source where source.id = ${sourceId})`;
    const families = source.families && JSON.stringify(source.families);
    const row = await now
      .updateTable('threads')
      .set({ latest_turn_id: latest, families })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const tx = await lockThread(now, id);
    // without it, the model would take up what the turn in the source still does
    if (running)
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

/** A thread and its copy, which is there and empty. The caller holds the lock of the first. */
interface Copying {
  from: string;
  to: string;
}

/**
 * Copies what was said and done: it stays in the database, so that the size of a thread makes no difference to this
 * process.
 */
async function copyDialogue(tx: Tx, copying: Copying): Promise<void> {
  // rows first that others name
  for (const copy of [copyTurns, copyItems, copyAttachments, copyCalls, copyTranscript, copySummaries])
    await copy(tx, copying);
}

/** What the turns cost stays with the source. */
const copyTurns = (tx: Tx, { from, to }: Copying) =>
  sql`insert into turns (id, thread_id, status, input_summary, usage, error, steer_count, auto_approve, model, mode, allow_shell, extensions, delay_told,
      compaction, created_at, started_at, ended_at)
    select ${idInCopy('turn_', to, 'id')}, ${to}, case status when 'in_progress' then 'interrupted' else status end, input_summary, usage, error, steer_count,
      auto_approve, model, mode, allow_shell, extensions, delay_told, compaction, created_at, started_at, coalesce(ended_at, now())
    from turns where thread_id = ${from}`.execute(tx);

const copyItems = (tx: Tx, { from, to }: Copying) =>
  sql`insert into items (id, turn_id, thread_id, kind, status, summary, detail, metadata, started_at, ended_at)
    select ${idInCopy('item_', to, 'id')}, ${idInCopy('turn_', to, 'turn_id')}, ${to}, kind,
      case status when 'in_progress' then 'interrupted' else status end, summary, detail, metadata, started_at, coalesce(ended_at, now())
    from items where thread_id = ${from} order by ord`.execute(tx);

const copyAttachments = (tx: Tx, { from, to }: Copying) =>
  sql`insert into attachments (id, thread_id, kind, mime, name, size, sha256, data, preview, text, created_at, copied_from)
    select ${idInCopy('att_', to, 'id')}, ${to}, kind, mime, name, size, sha256, data, preview, text, created_at, coalesce(copied_from, id)
    from attachments where thread_id = ${from}`.execute(tx);

/**
 * A call that has no result has none here either. The id of the picture that a call made is that of the copy, because a
 * request reads pictures by it. An app that a call started belongs to the source.
 */
const copyCalls = (tx: Tx, { from, to }: Copying) =>
  sql`insert into calls (id, provider_id, turn_id, thread_id, item_id, step, position, name, args, danger, effect, policy, state, ok, output, metadata, sources,
      taint, started_at, ended_at, copied_from)
    select ${idInCopy('call_', to, 'id')}, provider_id, ${idInCopy('turn_', to, 'turn_id')}, ${to}, ${idInCopy('item_', to, 'item_id')}, step, position, name,
      args, danger, effect, policy, 'done', state = 'done' and ok,
      case state when 'done' then output when 'running' then ${UNFINISHED.running}::text else ${UNFINISHED.pending}::text end,
      case when picture is null then metadata - 'app' else jsonb_set(metadata, '{attachment}', to_jsonb(${idInCopy('att_', to, 'picture')})) end,
      sources, taint, started_at, coalesce(ended_at, now()), coalesce(copied_from, id)
    from (select *, metadata ->> 'attachment' as picture from calls where turn_id in (select id from turns where thread_id = ${from})) as call`.execute(
    tx,
  );

/** The ids of a list in the copy, in their order. */
const idsInCopy = (prefix: 'call_' | 'att_', to: string, column: string) =>
  sql`(select coalesce(jsonb_agg(${idInCopy(prefix, to, 'each.id')} order by each.place), '[]')
    from jsonb_array_elements_text(${sql.ref(column)}) with ordinality as each (id, place))`;

const copyTranscript = (tx: Tx, { from, to }: Copying) =>
  sql`insert into transcript (id, thread_id, turn_id, role, content, call_ids, attachment_ids, sources, words, tokens, step_state, created_at, copied_from)
    select ${idInCopy('msg_', to, 'id')}, ${to}, ${idInCopy('turn_', to, 'turn_id')}, role, content, ${idsInCopy('call_', to, 'call_ids')},
      ${idsInCopy('att_', to, 'attachment_ids')}, sources, words, tokens, step_state, created_at, coalesce(copied_from, id)
    from transcript where thread_id = ${from} order by ord`.execute(tx);

/** A summary, or the beginning of a conversation, stands at the copy of the message that it stands at. */
const copySummaries = (tx: Tx, { from, to }: Copying) =>
  sql`insert into summaries (id, thread_id, upto, body, sources, created_at)
    select ${to}::text || '/' || place.upto, ${to}, place.upto, body, sources, created_at
    from summaries cross join lateral (
      select copy.ord as upto
      from (select id from transcript where thread_id = ${from} and ord <= summaries.upto order by ord desc limit 1) as said
        join transcript as copy on copy.id = ${idInCopy('msg_', to, 'said.id')}) as place
    where summaries.thread_id = ${from}
    order by summaries.upto on conflict (id) do nothing`.execute(tx);
