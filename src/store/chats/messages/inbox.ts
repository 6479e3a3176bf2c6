import { sql } from 'kysely';
import type { Arrival } from '../../../contracts/conversation.ts';
import type { Identity } from '../../../contracts/decision.ts';
import type { Channel } from '../../../contracts/ids.ts';
import type { Preferences } from '../../../domain/chat/preferences.ts';
import { type Db, json, perDatabase, type Tx } from '../../postgres/database.ts';
import { type RequestKey, requireSame } from '../request-keys.ts';
import type { ThreadTransaction } from '../thread-transaction.ts';

interface Received {
  id: string;
  arrival: unknown;
  turn_id: string | null;
  signalled_at: Date | null;
}

/**
 * A chat as intake needs it: where its conversation runs, and the row of this very message if it came before. @throws
 * KeyReused
 */
export async function findReceived(
  tx: Tx,
  chatId: string,
  key: RequestKey,
): Promise<{ chat: { channel: Channel; workflow_id: string; preferences: Preferences }; known: Received | null }> {
  const row = await tx
    .selectFrom('chats')
    .leftJoin('inbox', (join) =>
      join
        .onRef('inbox.chat_id', '=', 'chats.id')
        .on('inbox.channel_message_id', 'in', key.before === undefined ? [key.id] : [key.id, key.before])
        .on((e) => e.or([e('inbox.channel_message_id', '=', key.id), e('inbox.fingerprint', 'is', null)])),
    )
    .select([
      'chats.channel',
      'chats.workflow_id',
      'chats.preferences',
      'inbox.id',
      'inbox.arrival',
      'inbox.turn_id',
      'inbox.signalled_at',
      'inbox.fingerprint',
    ])
    .where('chats.id', '=', chatId)
    .executeTakeFirstOrThrow();
  const { channel, workflow_id, preferences, id, arrival, turn_id, signalled_at } = row;
  requireSame(row.fingerprint, key.fingerprint);
  const known = id === null ? null : { id, arrival, turn_id, signalled_at };
  return { chat: { channel, workflow_id, preferences }, known };
}

export function receive(
  tx: ThreadTransaction,
  row: {
    id: string;
    turnId: string | null;
    key: RequestKey;
    arrival: Arrival;
    body: string;
    writtenBy: readonly Identity[];
    /** where its trace goes on */
    traceParent?: string | undefined;
  },
): void {
  tx.later((db) =>
    db.insertInto('inbox').values({
      id: row.id,
      chat_id: tx.chatId,
      thread_id: tx.threadId,
      turn_id: row.turnId,
      channel_message_id: row.key.id,
      fingerprint: row.key.fingerprint,
      arrival: json(row.arrival),
      body: row.body,
      written_by: json(row.writtenBy),
      ...(row.traceParent && { trace_parent: row.traceParent }),
    }),
  );
  tx.later((db) => db.updateTable('chats').set({ last_activity_at: new Date() }).where('id', '=', tx.chatId));
}

/** What a signal needs: the arrival and its chat. */
export const arrivalOf = (db: Db, inboxId: string) =>
  db
    .selectFrom('inbox')
    .innerJoin('chats', 'chats.id', 'inbox.chat_id')
    .select([
      'inbox.id',
      'inbox.arrival',
      'inbox.signalled_at',
      'chats.id as chat_id',
      'chats.channel',
      'chats.workflow_id',
      'inbox.resignalled',
      'inbox.trace_parent',
    ])
    .where('inbox.id', '=', inboxId)
    .executeTakeFirst();

export const markSignalled = async (db: Db, inboxId: string): Promise<void> => {
  await db.updateTable('inbox').set({ signalled_at: new Date() }).where('id', '=', inboxId).execute();
};

export interface Unsignalled {
  id: string;
  chatId: string;
  /** as PostgreSQL writes it, because a JavaScript date has no microseconds and a cursor needs them */
  at: string;
}

/**
 * Rows whose signal was lost: committed at least `olderThanMs` ago and not signalled, oldest first, starting after
 * `after`.
 */
export const unsignalled = (
  db: Db,
  olderThanMs: number,
  limit: number,
  after: Unsignalled | null = null,
): Promise<Unsignalled[]> => {
  let query = db
    .selectFrom('inbox')
    .select(['id', 'chat_id as chatId', sql<string>`received_at::text`.as('at')])
    .where('signalled_at', 'is', null)
    .where('received_at', '<=', new Date(Date.now() - olderThanMs));
  if (after) query = query.where(sql<boolean>`(received_at, id) > (${after.at}::timestamptz, ${after.id})`);
  return query.orderBy('received_at').orderBy('id').limit(limit).execute();
};

/**
 * Lets rows be signalled again, under new ids, because a conversation drops ids that it has seen. Rows of a turn only
 * while it is in progress. Returns how many.
 */
export async function unmarkSignalled(db: Db, inboxIds: readonly string[], turnId: string): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('inbox')
    .set((e) => ({ signalled_at: null, resignalled: e('resignalled', '+', 1) }))
    .where('id', 'in', inboxIds)
    .where('signalled_at', 'is not', null)
    .where((e) =>
      e.exists(
        e
          .selectFrom('turns')
          .select('turns.id')
          .where('turns.id', '=', turnId)
          .where('turns.status', '=', 'in_progress'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** A message that is stored later than this after its time was never seen. */
const LATE_S = 60;
const counted = perDatabase(() => new Map<number, { upto: Date; messages: number }>());

/**
 * People's messages that were stored since `since`. What was counted once is remembered, so that their number makes no
 * difference.
 */
export async function messagesSince(db: Db, since: Date): Promise<number> {
  const all = counted(db);
  const known = all.get(since.getTime()) ?? { upto: since, messages: 0 };
  const { rows } = await sql<{ messages: number; settled: number; upto: Date }>`
    select count(inbox.id) as messages, count(inbox.id) filter (where received_at <= limit_at) as settled, limit_at as upto
    from (select greatest(${known.upto}::timestamptz, date_trunc('milliseconds', now() - ${LATE_S} * interval '1 second')) as limit_at) as settling
      left join inbox on received_at > ${known.upto}::timestamptz
    group by limit_at`.execute(db);
  const { messages, settled, upto } = rows[0]!;
  all.set(since.getTime(), { upto, messages: known.messages + Number(settled) });
  return known.messages + Number(messages);
}

/** Whether somebody, as the channel knows people, wrote one of the messages that began a turn. */
export async function wroteTurn(
  tx: Tx,
  turnId: string,
  by: Required<Pick<Identity, 'channel' | 'id'>>,
): Promise<boolean> {
  const row = await tx
    .selectFrom('inbox')
    .select('id')
    .where('turn_id', '=', turnId)
    .where(sql<boolean>`arrival ->> 'kind' = 'turn'`)
    .where(sql<boolean>`written_by @> ${json([by])}::jsonb`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
