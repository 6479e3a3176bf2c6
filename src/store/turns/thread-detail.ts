import { type Selectable, sql } from 'kysely';
import type { ItemRecord, ThreadRecord, TurnRecord } from '../../contracts/records.ts';
import { onThread } from '../chats/thread-transaction.ts';
import { latestSeq } from '../chats/threads/events.ts';
import { toItemRecord } from '../chats/threads/items.ts';
import { getThread, toThreadRecord } from '../chats/threads/threads.ts';
import type { Db, Tx } from '../postgres/database.ts';
import type { ThreadTable } from '../schema/tables/chats.ts';
import { approvalRequest, inputRequest } from './questions/question-payloads.ts';
import { activeTurn, turnRecord } from './turns.ts';

interface ThreadDetail {
  thread: ThreadRecord;
  turns: TurnRecord[];
  items: ItemRecord[];
  latest_seq: number;
  pending_approvals: Array<Record<string, unknown>>;
  pending_user_inputs: Array<Record<string, unknown>>;
  /** set when older turns were left out: `before` continues with them */
  more_before?: string;
}

interface DetailPage {
  lastTurns?: number;
  /** id of a turn: only older ones are shown */
  before?: string;
}

/** Most text of items in one answer; older turns are left out, as with `lastTurns`. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** How many of its newest items a larger turn shows; their texts are cut. */
const PAGE_ITEMS = 4_000;

const CUT_CHARS = 1_000;

/**
 * A consistent picture: anything newer than `latest_seq` arrives as an event. It has all open questions, even of turns
 * that are left out by the page or because the answer would be too large.
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
      const open = await tx
        .selectFrom('questions')
        .selectAll()
        .where('thread_id', '=', id)
        .where('state', '=', 'open')
        .orderBy('asked_at')
        .execute();
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
        pending_approvals: await Promise.all(
          open.filter((q) => q.kind === 'approval').map((q) => approvalRequest(tx, q)),
        ),
        pending_user_inputs: open
          .filter((q) => q.kind !== 'approval')
          .map((q) => ({ ...inputRequest(q), turn_id: q.turn_id })),
        ...(more && turns[0] && { more_before: turns[0].id }),
      };
    });
}

/** Turns of a page, oldest first. `more`: there are older ones; `oversized`: the only turn is larger than a page. */
async function turnsOfPage(tx: Tx, threadId: string, { lastTurns, before }: DetailPage) {
  let query = tx
    .selectFrom('turns')
    .selectAll()
    .where('thread_id', '=', threadId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');
  if (before !== undefined)
    query = query.where(
      sql<boolean>`(created_at, id) < (select created_at, id from turns where id = ${before} and thread_id = ${threadId})`,
    );
  const found = await (lastTurns === undefined ? query : query.limit(lastTurns + 1)).execute();
  const wanted = lastTurns === undefined ? found : found.slice(0, lastTurns);
  const sizes = await bytesOfTurns(
    tx,
    threadId,
    lastTurns === undefined && before === undefined ? null : wanted.map((turn) => turn.id),
  );
  let bytes = 0;
  const turns = wanted.filter((turn, at) => {
    bytes += sizes.get(turn.id) ?? 0;
    return at === 0 || bytes <= PAGE_BYTES;
  });
  const oversized = turns.length === 1 && (sizes.get(turns[0]!.id) ?? 0) > PAGE_BYTES;
  return { turns: turns.reverse(), more: turns.length < found.length, oversized };
}

/**
 * The size that the items of turns would have in an answer; sizes are known without reading the texts. `ids` null: for
 * the whole thread.
 */
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
  const query = tx
    .selectFrom('items')
    .where('thread_id', '=', threadId)
    .where('turn_id', '=', sql<string>`any(${turnIds})`);
  if (!oversized) return await query.selectAll().orderBy('ord').execute();
  const newest = await query
    .select(['ord', 'id', 'turn_id', 'thread_id', 'kind', 'status', 'summary', 'metadata', 'started_at', 'ended_at'])
    .select(
      sql<
        string | null
      >`case when length(detail) > ${CUT_CHARS} then left(detail, ${CUT_CHARS}) || '…' else detail end`.as('detail'),
    )
    .orderBy('ord', 'desc')
    .limit(PAGE_ITEMS)
    .execute();
  return newest.reverse();
}

/** In the order in which clients are told of them. A title or system prompt of `null` is taken away. */
const CHANGEABLE = [
  'archived',
  'allow_shell',
  'trust_mode',
  'auto_approve',
  'model',
  'mode',
  'title',
  'system_prompt',
  'workspace',
] as const;
export type ThreadChanges = Partial<Pick<Selectable<ThreadTable>, (typeof CHANGEABLE)[number]>>;

/**
 * Changes a thread and announces `thread.updated`; what is there already changes nothing. Null when there is no such
 * thread. `busy`: a turn runs in the workspace that would be changed.
 */
export async function updateThread(db: Db, id: string, wanted: ThreadChanges): Promise<ThreadRecord | 'busy' | null> {
  if (!(await getThread(db, id))) return null;
  return await onThread(db, id, async (tx) => {
    const before = await tx.now.selectFrom('threads').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const restored = wanted.archived === false && before.deleted_at !== null;
    const changed = CHANGEABLE.filter(
      (field) => wanted[field] !== undefined && (wanted[field] !== before[field] || (field === 'archived' && restored)),
    );
    if (changed.length === 0) return toThreadRecord(before);
    if (changed.includes('workspace') && (await activeTurn(tx.now, id))) return 'busy';
    const changes = Object.fromEntries(changed.map((field) => [field, wanted[field]]));
    const set = { ...changes, updated_at: tx.at, ...(restored && { deleted_at: null }) };
    const after = await tx.now
      .updateTable('threads')
      .set(set)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const record = toThreadRecord(after);
    tx.append({ event: 'thread.updated', payload: { thread: record, changes } });
    return record;
  });
}
