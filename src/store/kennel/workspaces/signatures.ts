import { sql } from 'kysely';
import type { Author } from '../../../contracts/workspace-ops.ts';
import { ofOthers } from '../../chats/shares.ts';
import type { Db, Tx } from '../../postgres/database.ts';

/** Who the commits are by. The owner has one answer for all chats; the chat of somebody else has its own. */

const OWNER = 'owner';

/** The name and address that git has on a host that is alive; null when it has none. */
export async function gitIdentity(db: Db | Tx, host?: string): Promise<Author | null> {
  let query = db
    .selectFrom('kennel_hosts')
    .select(['git_name', 'git_email'])
    .where('git_name', 'is not', null)
    .where('git_email', 'is not', null);
  if (host !== undefined) query = query.where('host', '=', host);
  const row = await query.orderBy('seen_at', 'desc').executeTakeFirst();
  return row?.git_name && row.git_email ? { name: row.git_name, email: row.git_email } : null;
}

/** The person whose answer counts in a chat. */
async function personOf(db: Db | Tx, chatId: string): Promise<string> {
  const other = await db
    .selectFrom('inbox')
    .select('chat_id')
    .where('chat_id', '=', chatId)
    .where(ofOthers)
    .limit(1)
    .executeTakeFirst();
  return other ? chatId : OWNER;
}

/** Null: Fetch. */
export async function signatureOf(db: Db | Tx, chatId: string): Promise<Author | null> {
  const person = await personOf(db, chatId);
  const row = await db
    .selectFrom('signatures')
    .select(['name', 'email'])
    .where('person', '=', person)
    .executeTakeFirst();
  return row?.name && row.email ? { name: row.name, email: row.email } : null;
}

export async function setSignature(tx: Tx, chatId: string, by: Author | null): Promise<void> {
  const said = { name: by?.name ?? null, email: by?.email ?? null };
  await tx
    .insertInto('signatures')
    .values({ person: await personOf(tx, chatId), ...said })
    .onConflict((c) => c.column('person').doUpdateSet(said))
    .execute();
}

/** True for one task: the owner is asked once. A repeated attempt of that task gets the same answer. */
export async function asksWhoSigns(db: Db, task: { id: string; chat_id: string }): Promise<boolean> {
  if ((await personOf(db, task.chat_id)) !== OWNER) return false;
  const row = await db
    .insertInto('signatures')
    .values({ person: OWNER, name: null, email: null, asked_by: task.id })
    .onConflict((c) => c.column('person').doUpdateSet({ asked_by: sql<string | null>`signatures.asked_by` }))
    .returning('asked_by')
    .executeTakeFirst();
  return row?.asked_by === task.id;
}
