import { sql } from 'kysely';
import type { Source } from '../../contracts/taint.ts';
import { cut, derivedId, roughTokens } from '../chats/ids.ts';
import { onThread, type ThreadTransaction } from '../chats/thread-transaction.ts';
import { insertItems, itemRow } from '../chats/threads/items.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { ImportKind } from '../schema/tables/home.ts';
import { trustPhone } from '../whatsapp/contacts.ts';
import { SqliteFile } from './sqlite-file.ts';

/** The record of what was taken over. */

/** Empty in the database of an older release, which has no record. */
export async function importedKeys(db: Db, kind: ImportKind): Promise<Set<string>> {
  const { rows } = await sql<{ there: boolean }>`select to_regclass('imports') is not null as there`.execute(db);
  if (!rows[0]?.there) return new Set();
  return new Set(
    (await db.selectFrom('imports').select('key').where('kind', '=', kind).execute()).map(({ key }) => key),
  );
}

/** Records that this is taken over. True for the first caller. */
export async function claimImport(tx: Db | Tx, kind: ImportKind, key: string): Promise<boolean> {
  const row = await tx
    .insertInto('imports')
    .values({ kind, key })
    .onConflict((c) => c.doNothing())
    .returning('key')
    .executeTakeFirst();
  return row !== undefined;
}

/** Trusts a number, once: one that is distrusted later stays so. */
export const importTrusted = (db: Db, phone: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (await claimImport(tx, 'trusted number', phone)) await trustPhone(tx, phone);
  });

/** What was said in a chat before it came here. */
export interface PastMessage {
  role: 'user' | 'assistant';
  content: string;
  at: Date;
  /** sources of text of others in it */
  sources: readonly Source[];
}

/** Messages of one statement. */
const AT_ONCE = 500;

/** `key`: of the session, and in the ids of its rows. */
interface PastSession {
  key: string;
  messages: readonly PastMessage[];
  /** the person wants to be asked about everything */
  supervised: boolean;
}

/**
 * Makes what was said before the history of a thread, once. `used`: something was said in it already, so nothing is
 * changed.
 */
export const importHistory = (
  db: Db,
  threadId: string,
  session: PastSession,
): Promise<'taken' | 'done before' | 'used'> =>
  onThread(db, threadId, async (tx) => {
    const { now, chatId } = tx;
    if (
      await now
        .selectFrom('imports')
        .select('key')
        .where('kind', '=', 'session')
        .where('key', '=', session.key)
        .executeTakeFirst()
    )
      return 'done before';
    if (await now.selectFrom('turns').select('id').where('thread_id', '=', threadId).limit(1).executeTakeFirst())
      return 'used';
    await claimImport(now, 'session', session.key);
    await addHistory(tx, session);
    if (session.supervised)
      await now.updateTable('chats').set({ autonomy: 'supervised' }).where('id', '=', chatId).execute();
    return 'taken';
  });

/**
 * As turns that are over: each message of the person begins one. No events are written, because no screen was there.
 */
async function addHistory(tx: ThreadTransaction, { key, messages }: PastSession): Promise<void> {
  const turns = turnsOf(key, messages);
  for (let from = 0; from < turns.length; from += AT_ONCE) await addTurns(tx, turns.slice(from, from + AT_ONCE));
  const last = turns.at(-1);
  if (!last) return;
  const ended = messages.at(-1)!.at;
  await tx.now
    .updateTable('threads')
    .set({ latest_turn_id: last.id, updated_at: ended })
    .where('id', '=', tx.threadId)
    .execute();
  await tx.now.updateTable('chats').set({ last_activity_at: ended }).where('id', '=', tx.chatId).execute();
}

interface PastTurn {
  id: string;
  messages: Array<PastMessage & { itemId: string }>;
}

function turnsOf(key: string, messages: readonly PastMessage[]): PastTurn[] {
  const turns: PastTurn[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'user' || turns.length === 0)
      turns.push({ id: derivedId('msg_', 'import', key, at).replace('msg_', 'turn_'), messages: [] });
    turns.at(-1)!.messages.push({ ...message, itemId: derivedId('item_', 'import', key, at) });
  }
  return turns;
}

async function addTurns(tx: ThreadTransaction, turns: readonly PastTurn[]): Promise<void> {
  const { threadId } = tx;
  await tx.now
    .insertInto('turns')
    .values(
      turns.map(({ id, messages }) => ({
        id,
        thread_id: threadId,
        status: 'completed' as const,
        input_summary: cut(messages[0]!.content, 280),
        created_at: messages[0]!.at,
        started_at: messages[0]!.at,
        ended_at: messages.at(-1)!.at,
      })),
    )
    .execute();
  const all = turns.flatMap(({ id: turnId, messages }) => messages.map((message) => ({ ...message, turnId })));
  insertItems(
    tx,
    all.map(({ itemId, turnId, role, content, at }) =>
      itemRow(
        {
          id: itemId,
          turnId,
          threadId,
          kind: role === 'user' ? 'user_message' : 'agent_message',
          status: 'completed',
          summary: content,
          detail: content,
        },
        at,
      ),
    ),
  );
  await tx.sendPending();
  const said = all.map(({ itemId, turnId, role, content, at, sources }) => ({
    id: derivedId('msg_', itemId),
    thread_id: threadId,
    turn_id: turnId,
    role,
    content,
    sources,
    tokens: roughTokens(content),
    created_at: at,
  }));
  // in their order, which numbers them
  await sql`insert into transcript (id, thread_id, turn_id, role, content, call_ids, sources, tokens, created_at)
    select said.id, said.thread_id, said.turn_id, said.role, said.content, '[]', said.sources, said.tokens, said.created_at
    from jsonb_array_elements(${json(said)}::jsonb) with ordinality as given (value, position), jsonb_populate_record(null::transcript, given.value) as said
    order by given.position`.execute(tx.now);
}

/** A session in the SQLite file of the original Fetch: JSON, if nothing is broken. */
interface OriginalRow {
  id: string;
  data: string;
}

/** The rows of `sessions.db`. Throws when it is no such database. */
export const originalSessions = (file: string): OriginalRow[] =>
  SqliteFile.read(file, (from) => {
    if (from.columns('sessions').length === 0) throw new Error('no such table: sessions');
    const rows = from.rows({ table: 'sessions', columns: ['id', 'data'], whole: true });
    return rows.map(({ id, data }) => ({ id: String(id), data: String(data) }));
  });
