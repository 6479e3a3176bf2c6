import { type Selectable, sql } from 'kysely';
import type { Autonomy } from '../../contracts/conversation.ts';
import { type Channel, conversationId } from '../../contracts/ids.ts';
import type { ItemRecord, ThreadRecord, TurnRecord } from '../../contracts/records.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { appendEvents } from '../postgres/write-batch.ts';
import { approvalRequest, inputRequest } from '../turns/question-payloads.ts';
import { turnRecord } from '../turns/turns.ts';
import { latestSeq, lockThread } from './events.ts';
import { freshId } from './ids.ts';
import { toItemRecord } from './items.ts';
import { type RequestKey, takeForThread } from './request-keys.ts';
import type { ThreadTable } from './tables.ts';

export interface NewThread {
  channel: Channel;
  /** the chat's address on its channel; an API thread is its own chat */
  address?: string;
  model: string;
  workspace: string;
  mode: string;
  allow_shell: boolean;
  trust_mode: boolean;
  auto_approve: boolean;
  archived: boolean;
  system_prompt?: string | null;
  task_id?: string | null;
  autonomy: Autonomy;
  chatKey: (address: string) => string;
  /** the same key gives the same thread */
  key?: RequestKey;
}

export const toThreadRecord = (row: Selectable<ThreadTable>): ThreadRecord => ({
  schema_version: 2,
  id: row.id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  model: row.model,
  workspace: row.workspace,
  mode: row.mode,
  allow_shell: row.allow_shell,
  trust_mode: row.trust_mode,
  auto_approve: row.auto_approve,
  ...(row.latest_turn_id !== null && { latest_turn_id: row.latest_turn_id }),
  archived: row.archived,
  ...(row.system_prompt !== null && { system_prompt: row.system_prompt }),
  ...(row.task_id !== null && { task_id: row.task_id }),
  ...(row.title !== null && { title: row.title }),
  coherence_state: 'healthy',
});

/** Makes a thread, and its chat where there is none; announces `thread.started`. @throws KeyReused */
export async function createThread(db: Db, input: NewThread): Promise<ThreadRecord> {
  const id = freshId('thr_');
  const address = input.address ?? id;
  return await db.transaction().execute(async (tx) => {
    const before = input.key && (await takeForThread(tx, input.key, id));
    if (before) return toThreadRecord(await tx.selectFrom('threads').selectAll().where('id', '=', before).executeTakeFirstOrThrow());
    const key = input.chatKey(address);
    const made = await tx
      .insertInto('chats')
      .values({ id: `${input.channel}/${key}`, channel: input.channel, address, workflow_id: conversationId(input.channel, key), autonomy: input.autonomy })
      .onConflict((c) => c.doNothing())
      .returning('id')
      .executeTakeFirst();
    // by its address: a machine with another key for ids would look for another one
    const there = () => tx.selectFrom('chats').select('id').where('channel', '=', input.channel).where('address', '=', address);
    const { id: chatId } = made ?? (await there().executeTakeFirstOrThrow());
    const row = await tx
      .insertInto('threads')
      .values({
        id,
        chat_id: chatId,
        model: input.model,
        workspace: input.workspace,
        mode: input.mode,
        allow_shell: input.allow_shell,
        trust_mode: input.trust_mode,
        auto_approve: input.auto_approve,
        archived: input.archived,
        system_prompt: input.system_prompt || null,
        task_id: input.task_id ?? null,
        title: null,
        latest_turn_id: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await lockThread(tx, id);
    const record = toThreadRecord(row);
    await appendEvents(tx, id, [{ event: 'thread.started', payload: { thread: record } }]);
    return record;
  });
}

export async function getThread(db: Db, id: string): Promise<ThreadRecord | null> {
  const row = await db.selectFrom('threads').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? toThreadRecord(row) : null;
}

/** The chat that a thread belongs to. */
export const chatOfThread = async (db: Db, id: string): Promise<string> =>
  (await db.selectFrom('threads').select('chat_id').where('id', '=', id).executeTakeFirstOrThrow()).chat_id;

export const channelOfChat = async (db: Db, id: string): Promise<Channel> =>
  (await db.selectFrom('chats').select('channel').where('id', '=', id).executeTakeFirstOrThrow()).channel;

/** The one thread of a chat that is not driven over HTTP. */
export async function threadOfChat(db: Db, channel: Channel, address: string): Promise<ThreadRecord | null> {
  const row = await db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .selectAll('threads')
    .where('chats.channel', '=', channel)
    .where('chats.address', '=', address)
    .orderBy('threads.created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? toThreadRecord(row) : null;
}

/** Newest first. `archived_only` wins over `include_archived`. */
export async function listThreads(db: Db, options: { limit?: number; include_archived: boolean; archived_only: boolean }): Promise<ThreadRecord[]> {
  let query = db.selectFrom('threads').selectAll().orderBy('updated_at', 'desc').orderBy('id');
  if (options.archived_only) query = query.where('archived', '=', true);
  else if (!options.include_archived) query = query.where('archived', '=', false);
  if (options.limit !== undefined) query = query.limit(options.limit);
  return (await query.execute()).map(toThreadRecord);
}

export interface ThreadDetail {
  thread: ThreadRecord;
  turns: TurnRecord[];
  items: ItemRecord[];
  latest_seq: number;
  pending_approvals: Array<Record<string, unknown>>;
  pending_user_inputs: Array<Record<string, unknown>>;
  /** set when older turns were left out: `before` goes on with them */
  more_before?: string;
}

export interface DetailPage {
  lastTurns?: number;
  /** id of a turn: only older ones are shown */
  before?: string;
}

/** Text of items that one answer holds; turns from before that are left out, as with `lastTurns`. */
const PAGE_BYTES = 16 * 1024 * 1024;
/** A turn that is larger alone is shown with so many of its newest items, and their texts cut. */
const PAGE_ITEMS = 4_000;
const CUT_CHARS = 1_000;

/**
 * A consistent picture: whatever is newer than `latest_seq` arrives as an event. Open questions are all there, whatever turns are left out:
 * by the page, or because one answer would be too large for its readers.
 */
export async function threadDetail(db: Db, id: string, page: DetailPage = {}): Promise<ThreadDetail | null> {
  return await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const thread = await tx.selectFrom('threads').selectAll().where('id', '=', id).executeTakeFirst();
      if (!thread) return null;
      const { turns, more, oversized } = await turnsOfPage(tx, id, page);
      const items = await itemsOf(
        tx,
        id,
        turns.map((turn) => turn.id),
        oversized,
      );
      const open = await tx.selectFrom('questions').selectAll().where('thread_id', '=', id).where('state', '=', 'open').orderBy('asked_at').execute();
      const byTurn = Map.groupBy(items, (item) => item.turn_id);
      return {
        thread: toThreadRecord(thread),
        turns: turns.map((turn) =>
          turnRecord(
            turn,
            (byTurn.get(turn.id) ?? []).map((item) => item.id),
          ),
        ),
        items: turns.flatMap((turn) => (byTurn.get(turn.id) ?? []).map(toItemRecord)),
        latest_seq: await latestSeq(tx, id),
        pending_approvals: await Promise.all(open.filter((q) => q.kind === 'approval').map((q) => approvalRequest(tx, q))),
        pending_user_inputs: open.filter((q) => q.kind === 'question').map((q) => ({ ...inputRequest(q), turn_id: q.turn_id })),
        ...(more && turns[0] && { more_before: turns[0].id }),
      };
    });
}

/** Turns of a page, the oldest first. `more`: there are older ones; `oversized`: the only turn is larger than a page. */
async function turnsOfPage(tx: Tx, threadId: string, { lastTurns, before }: DetailPage) {
  let query = tx.selectFrom('turns').selectAll().where('thread_id', '=', threadId).orderBy('created_at', 'desc').orderBy('id', 'desc');
  if (before !== undefined)
    query = query.where(sql<boolean>`(created_at, id) < (select created_at, id from turns where id = ${before} and thread_id = ${threadId})`);
  const found = await (lastTurns === undefined ? query : query.limit(lastTurns + 1)).execute();
  const wanted = lastTurns === undefined ? found : found.slice(0, lastTurns);
  const sizes = await bytesOfTurns(tx, threadId, lastTurns === undefined && before === undefined ? null : wanted.map((turn) => turn.id));
  let bytes = 0;
  const turns = wanted.filter((turn, at) => {
    bytes += sizes.get(turn.id) ?? 0;
    return at === 0 || bytes <= PAGE_BYTES;
  });
  const oversized = turns.length === 1 && (sizes.get(turns[0]!.id) ?? 0) > PAGE_BYTES;
  return { turns: turns.reverse(), more: turns.length < found.length, oversized };
}

/** What the items of turns would take in an answer; sizes of texts are known without reading them. `ids` null: of the whole thread. */
async function bytesOfTurns(tx: Tx, threadId: string, ids: readonly string[] | null): Promise<Map<string, number>> {
  if (ids?.length === 0) return new Map();
  const bytes = sql<number>`sum(octet_length(summary) + coalesce(octet_length(detail), 0) + coalesce(pg_column_size(metadata), 0) + 300)`;
  let query = tx
    .selectFrom('items')
    .select(['turn_id', bytes.as('bytes')])
    .where('thread_id', '=', threadId)
    .groupBy('turn_id');
  if (ids) query = query.where('turn_id', '=', sql<string>`any(${ids})`);
  return new Map((await query.execute()).map((row) => [row.turn_id, Number(row.bytes)]));
}

async function itemsOf(tx: Tx, threadId: string, turnIds: readonly string[], oversized: boolean) {
  if (turnIds.length === 0) return [];
  const query = tx.selectFrom('items').where('thread_id', '=', threadId).where('turn_id', '=', sql<string>`any(${turnIds})`);
  if (!oversized) return await query.selectAll().orderBy('ord').execute();
  const newest = await query
    .select(['ord', 'id', 'turn_id', 'thread_id', 'kind', 'status', 'summary', 'metadata', 'started_at', 'ended_at'])
    .select(sql<string | null>`case when length(detail) > ${CUT_CHARS} then left(detail, ${CUT_CHARS}) || '…' else detail end`.as('detail'))
    .orderBy('ord', 'desc')
    .limit(PAGE_ITEMS)
    .execute();
  return newest.reverse();
}
