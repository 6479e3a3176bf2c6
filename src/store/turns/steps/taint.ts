import type { CallTaint, Sink, Source } from '../../../contracts/taint.ts';
import type { Db, Tx } from '../../postgres/database.ts';

/** What a chat has allowed permanently, and the sources of a call. */

export async function grantsOf(db: Db | Tx, chatId: string): Promise<Set<Sink>> {
  const rows = await db.selectFrom('sink_grants').select('sink').where('chat_id', '=', chatId).execute();
  return new Set(rows.map((row) => row.sink));
}

export async function giveGrant(tx: Tx, chatId: string, sink: Sink, questionId: string): Promise<void> {
  await tx
    .insertInto('sink_grants')
    .values({ chat_id: chatId, sink, question_id: questionId })
    .onConflict((c) => c.columns(['chat_id', 'sink']).doNothing())
    .execute();
}

/** Takes one permission back, or all; returns those that existed. */
export async function takeGrantsBack(tx: Tx, chatId: string, sink: Sink | null): Promise<Sink[]> {
  let query = tx.deleteFrom('sink_grants').where('chat_id', '=', chatId);
  if (sink) query = query.where('sink', '=', sink);
  return (await query.returning('sink').execute()).map((row) => row.sink);
}

/** Pages that are searched for a link: the latest ones, each up to the longest output of a tool. */
const PAGES = 50;

/** The texts of the pages that were read in a thread, and the addresses that searches found there. */
export async function pagesRead(db: Db, threadId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('calls')
    .select('output')
    .where('thread_id', '=', threadId)
    .where('name', '=', 'web_fetch')
    .where('ok', '=', true)
    .orderBy('started_at', 'desc')
    .limit(PAGES)
    .execute();
  return [
    ...rows.flatMap((row) => row.output ?? []),
    ...(await linksSeen(db, threadId)),
    ...(await addressesFound(db, threadId)),
  ];
}

const BROWSER = ['browser_open', 'browser_snapshot', 'browser_action'];

/** Only the links of pages in the browser: other text there may be what the model typed. */
async function linksSeen(db: Db, threadId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('calls')
    .select('output')
    .where('thread_id', '=', threadId)
    .where('name', 'in', BROWSER)
    .where('ok', '=', true)
    .orderBy('started_at', 'desc')
    .limit(PAGES)
    .execute();
  return rows.flatMap(({ output }) => (output ?? '').split('\n').flatMap((line) => linkOf(line) ?? []));
}

/** `- link "Name" [ref=3, url=https://…]` */
function linkOf(line: string): string | null {
  const at = line.lastIndexOf(' url=');
  return line.trimStart().startsWith('- link ') && at > 0 && line.endsWith(']') ? line.slice(at + 5, -1) : null;
}

/** Only the addresses of results: titles and snippets may repeat the query, which the model wrote. */
async function addressesFound(db: Db, threadId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('calls')
    .innerJoin('turns', 'turns.id', 'calls.turn_id')
    .select('calls.metadata')
    .where('turns.thread_id', '=', threadId)
    .where('calls.name', '=', 'web_search')
    .where('calls.ok', '=', true)
    .orderBy('calls.started_at', 'desc')
    .limit(PAGES)
    .execute();
  return rows.flatMap(({ metadata }) => ((metadata?.results ?? []) as Array<{ url: string }>).map(({ url }) => url));
}

/** What a call's turn had read, and whether a person was asked about the call. */
export const taintOfCall = async (db: Db, callId: string): Promise<CallTaint | null> =>
  (await db.selectFrom('calls').select('taint').where('id', '=', callId).executeTakeFirst())?.taint ?? null;

/** Sources of a call that nobody was asked about, because a permission covered it. */
export const unaskedSources = (taint: CallTaint | null): Source[] =>
  taint && taint.asks.length === 0 ? taint.sources : [];
