import type { Selectable } from 'kysely';
import { type Db, json, type Tx } from './database.ts';
import { roughTokens } from './keys.ts';
import type { CallTable, TranscriptTable } from './schema.ts';

export interface History {
  /** the summary of everything older, or null */
  summary: string | null;
  upto: number;
  messages: Selectable<TranscriptTable>[];
  calls: Map<string, Selectable<CallTable>>;
}

/** What was said in a thread since its last summary, with the calls that were made. */
export async function loadHistory(db: Db, threadId: string): Promise<History> {
  const summary = await db
    .selectFrom('summaries')
    .select(['upto', 'body'])
    .where('thread_id', '=', threadId)
    .orderBy('upto', 'desc')
    .limit(1)
    .executeTakeFirst();
  const upto = summary?.upto ?? 0;
  const messages = await db.selectFrom('transcript').selectAll().where('thread_id', '=', threadId).where('ord', '>', upto).orderBy('ord').execute();
  const ids = messages.flatMap((message) => message.call_ids);
  const calls = ids.length > 0 ? await db.selectFrom('calls').selectAll().where('id', 'in', ids).execute() : [];
  return { summary: summary?.body ?? null, upto, messages, calls: new Map(calls.map((call) => [call.id, call])) };
}

/** Adds a summary of everything up to `upto`; the raw log stays. */
export async function addSummary(db: Db, threadId: string, upto: number, body: string): Promise<void> {
  await db
    .insertInto('summaries')
    .values({ id: `${threadId}/${upto}`, thread_id: threadId, upto, body })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
}

/** Adds what was said to what the model reads; a second time with the same id changes nothing. The caller holds `lockThread`. */
export async function remember(
  tx: Tx,
  said: { id: string; threadId: string; turnId: string; role: 'user' | 'assistant'; content: string; callIds?: string[] },
): Promise<void> {
  await tx
    .insertInto('transcript')
    .values({
      id: said.id,
      thread_id: said.threadId,
      turn_id: said.turnId,
      role: said.role,
      content: said.content,
      call_ids: json(said.callIds ?? []),
      tokens: roughTokens(said.content),
    })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
}
