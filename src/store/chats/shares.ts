import { sql } from 'kysely';
import { capabilitiesOf } from '../../contracts/channels.ts';
import type { Identity } from '../../contracts/decision.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { groupOfChat } from './groups.ts';

/** Which workspaces the owner shares. The owner, the terminal and holders of the API's token may use all workspaces. */

export async function shareWorkspace(tx: Tx, workspace: string, person: string): Promise<void> {
  await tx
    .insertInto('workspace_shares')
    .values({ workspace, person })
    .onConflict((c) => c.doNothing())
    .execute();
}

/** False when it was not shared. */
export async function unshareWorkspace(tx: Tx, workspace: string, person: string): Promise<boolean> {
  const gone = await tx
    .deleteFrom('workspace_shares')
    .where('workspace', '=', workspace)
    .where('person', '=', person)
    .returning('person')
    .executeTakeFirst();
  return gone !== undefined;
}

export const listShares = (tx: Db | Tx) =>
  tx.selectFrom('workspace_shares').select(['workspace', 'person']).orderBy('workspace').orderBy('person').execute();

/**
 * What a turn may use: null for everything, else the workspaces that are shared with everybody whose words it follows.
 */
type Reach = ReadonlySet<string> | null;

/** Words of others, as the index has them. */
export const ofOthers = sql<boolean>`(written_by @> '[{"role": "trusted"}]' or written_by @> '[{"role": "member"}]')`;

/**
 * The chat whose privileges a chat has: itself, or for the conversation of an isolated prompt the chat that scheduled it.
 */
export async function chatBehind(db: Db | Tx, chatId: string): Promise<string> {
  // it runs in a thread of the API
  if (capabilitiesOf(chatId).screen !== 'client') return chatId;
  const { rows } = await sql<{ chat_id: string }>`
    select routine_runs.chat_id from threads join background_tasks on background_tasks.thread_id = threads.id
      join routine_runs on routine_runs.id = background_tasks.run_id
    where threads.chat_id = ${chatId} limit 1`.execute(db);
  return rows[0]?.chat_id ?? chatId;
}

/**
 * A routine run and the prompt of a schedule follow the words of everybody who ever wrote in their chat. A registered
 * group reaches its own folder, whoever of it asks, because all members read the answer.
 */
export async function reachOf(db: Db, at: { chatId: string; turnId: string }): Promise<Reach> {
  const chatId = await chatBehind(db, at.chatId);
  const turnId = chatId === at.chatId ? at.turnId : '';
  const [shared, group] = await Promise.all([sharedWith(db, { chatId, turnId }), groupOfChat(db, chatId)]);
  return group ? new Set([...(shared ?? []), ...(group.folder === null ? [] : [group.folder])]) : shared;
}

async function sharedWith(db: Db, { chatId, turnId }: { chatId: string; turnId: string }): Promise<Reach> {
  const turn = await db
    .selectFrom('turns')
    .select('id')
    .where('id', '=', turnId)
    .where('run_id', 'is', null)
    .executeTakeFirst();
  let query = db.selectFrom('inbox').select('written_by').distinct().where('chat_id', '=', chatId).where(ofOthers);
  // a person who only allows or denies gives no words to follow
  if (turn)
    query = query
      .where('turn_id', '=', turnId)
      .where(sql<boolean>`coalesce(arrival ->> 'decision', '') not in ('allow', 'deny')`);
  const others = (await query.execute()).flatMap(({ written_by }) => written_by ?? []).filter(isOther);
  if (others.length === 0) return null;
  const people = [...new Set(others.map(({ id }) => id ?? ''))];
  const shared = await db
    .selectFrom('workspace_shares')
    .select('workspace')
    .where('person', 'in', people)
    .groupBy('workspace')
    .having((e) => e.fn.count('person'), '=', people.length)
    .execute();
  return new Set(shared.map(({ workspace }) => workspace));
}

const isOther = ({ role }: Identity): boolean => role === 'trusted' || role === 'member';

/** A person may use the workspaces that they create. */
export async function shareWithMakers(db: Db, turnId: string, workspace: string): Promise<void> {
  const rows = await db
    .selectFrom('inbox')
    .select('written_by')
    .where('turn_id', '=', turnId)
    .where(ofOthers)
    .execute();
  const people = [
    ...new Set(
      rows.flatMap(({ written_by }) => written_by ?? []).flatMap((by) => (isOther(by) && by.id ? [by.id] : [])),
    ),
  ];
  if (people.length === 0) return;
  await db
    .insertInto('workspace_shares')
    .values(people.map((person) => ({ workspace, person })))
    .onConflict((c) => c.doNothing())
    .execute();
}
