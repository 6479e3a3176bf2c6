import { sql } from 'kysely';
import type { Called, Said } from '../domain/context.ts';
import type { FileShown } from '../domain/files.ts';
import { shownFiles } from './attachments.ts';
import { type Db, json, type Tx } from './database.ts';
import { write } from './deferred.ts';
import { roughTokens } from './keys.ts';

export interface History {
  /** the summary of everything older, or null */
  summary: string | null;
  upto: number;
  messages: Said[];
  calls: Map<string, Called>;
  /** what came with these messages */
  files: Map<string, FileShown>;
}

/**
 * What was said in a thread since its last summary, with the calls that were made. One statement, so that all of it is of one
 * moment, and as JSON: a long dialogue is read by the parser of the engine instead of column by column.
 */
export async function loadHistory(db: Db, threadId: string): Promise<History> {
  const { rows } = await sql<{ summary: string | null; upto: number; messages: Said[]; calls: Called[]; attached: Record<string, string[]> }>`
    with last as (select upto, body from summaries where thread_id = ${threadId} order by upto desc limit 1),
      said as (
        select ord, turn_id, role, content, call_ids, attachment_ids, tokens from transcript
        where thread_id = ${threadId} and ord > coalesce((select upto from last), 0))
    select (select body from last) as summary, coalesce((select upto from last), 0) as upto,
      (select coalesce(json_agg(json_build_object('ord', ord, 'role', role, 'content', content, 'call_ids', call_ids, 'tokens', tokens) order by ord), '[]')
        from said) as messages,
      (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'args', args, 'state', state, 'output', output)), '[]')
        from calls where turn_id = any(array(select distinct turn_id from said where call_ids <> '[]'))) as calls,
      (select coalesce(json_object_agg(ord, attachment_ids), '{}') from said where attachment_ids <> '[]') as attached`.execute(db);
  const { summary, upto, messages, calls, attached } = rows[0]!;
  for (const message of messages) if (attached[message.ord]) message.attachment_ids = attached[message.ord];
  const files = await shownFiles(
    db,
    messages.flatMap((message) => message.attachment_ids ?? []),
  );
  return { summary, upto, messages, calls: new Map(calls.map((call) => [call.id, call])), files };
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
  await write(
    tx,
    tx
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
      .onConflict((c) => c.column('id').doNothing()),
  );
}
