import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/**
 * How long the content of messages stays, in days. Repeats, edits, deletions, quotes and retries all come within it.
 */
export const KEPT_DAYS = 30;
/** Rows of one statement, so that none of them blocks others for long. */
const AT_ONCE = 2_000;

const EMPTY = sql<Buffer>`''::bytea`;

/**
 * Deletes the content of received, handled and sent messages from before `before`. The conversation keeps its texts.
 * Keys of messages stay for ever, to recognise repetitions. What asks an open question stays too. Returns the number of
 * rows.
 */
export async function pruneContent(db: Db, account: string, before: Date): Promise<number> {
  let pruned = 0;
  for (const batch of [pruneReceived, pruneSent]) {
    for (let rows = AT_ONCE; rows === AT_ONCE; pruned += rows) rows = await batch(db, account, before);
  }
  return pruned;
}

async function pruneReceived(db: Db, account: string, before: Date): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('wa_inbox')
    .set({ content: EMPTY, attrs: '{}' })
    .where('seq', 'in', (e) =>
      e
        .selectFrom('wa_inbox as old')
        .select('old.seq')
        .where('old.account', '=', account)
        .where('old.handled_at', '<', before)
        // a stub stays a stub, so that its content is still accepted
        .where(sql<boolean>`octet_length(old.content) > 0`)
        .limit(AT_ONCE),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

async function pruneSent(db: Db, account: string, before: Date): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('wa_sends')
    .set({ content: EMPTY })
    .where('message_id', 'in', (e) =>
      e
        .selectFrom('wa_sends as old')
        .leftJoin('questions', 'questions.id', 'old.question_id')
        .select('old.message_id')
        .where('old.account', '=', account)
        .where('old.created_at', '<', before)
        .where('old.state', '!=', 'queued')
        .where(sql<boolean>`octet_length(old.content) > 0`)
        .where((w) => w.or([w('questions.state', 'is', null), w('questions.state', '!=', 'open')]))
        .limit(AT_ONCE),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
