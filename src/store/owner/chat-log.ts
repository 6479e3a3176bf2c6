import { sql } from 'kysely';
import type { Source } from '../../contracts/taint.ts';
import { describeTime } from '../../domain/cron.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import type { Db, Tx } from '../postgres/database.ts';

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

const PAGE = 1_000;
/** Bytes of an export, which is sent as a file. */
const MOST_BYTES = 15 * 1024 * 1024;

/** The log as Markdown, a heading for each day; the newest part of it where it is longer than a file may be. */
export async function logInMarkdown(db: Db | Tx, chatId: string, name: string, timeZone: string): Promise<string> {
  const parts: string[] = [];
  let bytes = 0;
  let before: number | null = null;
  for (let rows = PAGE; rows === PAGE && bytes < MOST_BYTES; ) {
    const { rows: page }: { rows: LogEntry[] } = await sql<LogEntry>`
      select transcript.ord, role, content, sources, transcript.created_at
      from transcript where thread_id in (select id from threads where chat_id = ${chatId}) and content <> ''
        and (${before}::bigint is null or ord < ${before}::bigint)
      order by ord desc limit ${PAGE}`.execute(db);
    for (const { role, content, created_at } of page) {
      const part = `**${role === 'user' ? 'Said here' : 'Fetch'}, ${describeTime(created_at, timeZone)}**\n\n${content}`;
      bytes += Buffer.byteLength(part);
      if (bytes < MOST_BYTES) parts.push(part);
    }
    rows = page.length;
    before = page.at(-1)?.ord ?? null;
  }
  return [`# ${inline(name, 80)}`, ...parts.toReversed()].join('\n\n') + '\n';
}
