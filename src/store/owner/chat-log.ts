import { sql } from 'kysely';
import type { Source } from '../../contracts/taint.ts';
import type { Db } from '../postgres/database.ts';

/** The whole log of a chat: what was said in all its threads, also before a new conversation began or it was summed up. */

export interface LogEntry {
  ord: number;
  role: 'user' | 'assistant';
  content: string;
  sources: Source[];
  created_at: Date;
}

/** Entries with every word of the query, the newest first. `before`: only those before this place in the log. */
export async function searchLog(
  db: Db,
  chatId: string,
  query: string,
  { before, limit }: { before: number | null; limit: number },
): Promise<LogEntry[]> {
  const words = query.normalize('NFC').match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return [];
  const each = words.slice(0, 20).map((word) => sql`content ilike ${`%${word}%`}`);
  const { rows } = await sql<LogEntry>`
    select transcript.ord, role, content, sources, transcript.created_at
    from transcript where thread_id in (select id from threads where chat_id = ${chatId})
      and (${before}::bigint is null or ord < ${before}::bigint) and content <> '' and ${sql.join(each, sql` and `)}
    order by ord desc limit ${limit}`.execute(db);
  return rows;
}

/** Entries in their order, `after` a place in the log. */
export async function readLog(db: Db, chatId: string, { after, limit }: { after: number; limit: number }) {
  const { rows } = await sql<LogEntry>`
    select transcript.ord, role, content, sources, transcript.created_at
    from transcript where thread_id in (select id from threads where chat_id = ${chatId}) and ord > ${after} and content <> ''
    order by ord limit ${limit}`.execute(db);
  return rows;
}
