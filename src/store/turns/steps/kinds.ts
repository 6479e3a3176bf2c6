import { sql } from 'kysely';
import { isGroupChat } from '../../../contracts/channels.ts';
import { type KindInProject, YES_BEFORE_OFFER } from '../../../domain/consent/kinds.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import type { KindOfCall } from '../../schema/tables/turns.ts';

/** What people answered about kinds of actions in the projects of a chat, and which the owner allows for good. */

type Place = Pick<KindInProject, 'host' | 'workspace' | 'key'>;

const placeOf = ({ host, workspace, key }: Place): string => [host, workspace, key].join('\n');

/** The kinds that the owner allows in a chat that is judged; none in any other, and none in a group. */
export async function rulesOf(db: Db | Tx, chatId: string): Promise<(kind: Place) => boolean> {
  const rows = await db
    .selectFrom('action_kinds')
    .innerJoin('chats', 'chats.id', 'action_kinds.chat_id')
    .select(['host', 'action_kinds.workspace', 'key', 'chats.channel', 'chats.address'])
    .where('chat_id', '=', chatId)
    .where('allowed_at', 'is not', null)
    .where('chats.judged', '=', true)
    .execute();
  const allowed = new Set(rows.filter(({ channel, address }) => !isGroupChat(channel, address)).map(placeOf));
  return (kind) => allowed.has(placeOf(kind));
}

export const kindOfCall = async (db: Db | Tx, callId: string | null): Promise<KindOfCall | null> =>
  callId === null
    ? null
    : ((await db.selectFrom('calls').select('kind').where('id', '=', callId).executeTakeFirst())?.kind ?? null);

/** Counts an answer about a call. `owner`: a yes of anybody else is no reason for a rule. */
export async function countAnswer(
  tx: Tx,
  { chat_id, call_id }: { chat_id: string; call_id: string | null },
  { decision, owner }: { decision: 'allow' | 'deny'; owner: boolean },
): Promise<void> {
  const kind = await kindOfCall(tx, call_id);
  if (!kind) return;
  const { host, workspace, key, label } = kind;
  const yes = decision === 'allow' ? 1 : 0;
  const counts = yes === 1 && owner ? 1 : 0;
  await tx
    .insertInto('action_kinds')
    .values({ chat_id, host, workspace, key, label, yes, no: 1 - yes, in_a_row: counts })
    .onConflict((c) =>
      c.columns(['chat_id', 'host', 'workspace', 'key']).doUpdateSet({
        yes: sql`action_kinds.yes + ${yes}::int`,
        no: sql`action_kinds.no + ${1 - yes}::int`,
        in_a_row: yes === 1 ? sql`action_kinds.in_a_row + ${counts}::int` : 0,
      }),
    )
    .execute();
}

/** Whether a question about a call says how to make its kind a rule. */
export async function isOffered(tx: Tx, chatId: string, kind: Place): Promise<boolean> {
  const row = await tx
    .selectFrom('action_kinds')
    .innerJoin('chats', 'chats.id', 'action_kinds.chat_id')
    .select(['in_a_row', 'allowed_at', 'chats.judged', 'chats.autonomy', 'chats.channel', 'chats.address'])
    .where('chat_id', '=', chatId)
    .where('host', '=', kind.host)
    .where('action_kinds.workspace', '=', kind.workspace)
    .where('key', '=', kind.key)
    .executeTakeFirst();
  if (!row || row.in_a_row < YES_BEFORE_OFFER || isGroupChat(row.channel, row.address)) return false;
  return row.autonomy === 'cautious' && !(row.judged && row.allowed_at !== null);
}

/** Allows the kind of a question that was counted, and has the chat judged from now on. */
export async function allowKind(tx: Tx, chatId: string, kind: Place, questionId: string): Promise<void> {
  await tx
    .updateTable('action_kinds')
    .set({ allowed_at: new Date(), question_id: questionId })
    .where('chat_id', '=', chatId)
    .where('host', '=', kind.host)
    .where('workspace', '=', kind.workspace)
    .where('key', '=', kind.key)
    .execute();
  await tx
    .updateTable('chats')
    .set({ judged: true })
    .where('id', '=', chatId)
    .where('autonomy', '=', 'cautious')
    .execute();
}

/** Takes back every rule of a chat; returns what they allowed, for people. */
export async function takeRulesBack(tx: Tx, chatId: string): Promise<string[]> {
  const rows = await tx
    .updateTable('action_kinds')
    .set({ allowed_at: null, question_id: null, in_a_row: 0 })
    .where('chat_id', '=', chatId)
    .where('allowed_at', 'is not', null)
    .returning(['label', 'workspace'])
    .execute();
  return rows.map(({ label, workspace }) => `${label} in ${workspace}`);
}

/** How often people said yes and no to each kind, the most asked first. */
export async function answersByKind(
  db: Db | Tx,
  chatId: string,
  limit: number,
): Promise<Array<{ label: string; workspace: string; yes: number; no: number; allowed: boolean }>> {
  return await db
    .selectFrom('action_kinds')
    .select(['label', 'workspace', 'yes', 'no', sql<boolean>`allowed_at is not null`.as('allowed')])
    .where('chat_id', '=', chatId)
    .orderBy(sql`yes + no`, 'desc')
    .orderBy('label')
    .limit(limit)
    .execute();
}
