import type { Selectable } from 'kysely';
import { isGroupChat } from '../../contracts/channels.ts';
import type { ThinkInput, ThinkResult } from '../../contracts/conversation.ts';
import { type Channel, stepKey } from '../../contracts/ids.ts';
import type { ThreadTable } from '../chats/tables.ts';
import { compiled } from '../postgres/compiled-query.ts';
import type { Db } from '../postgres/database.ts';
import type { TurnTable } from '../turns/tables.ts';
import { type Spent, TODAY } from './spending.ts';

export interface StepSubject {
  turn: Pick<Selectable<TurnTable>, 'status' | 'started_at' | 'created_at' | 'auto_approve' | 'model' | 'mode' | 'allow_shell'>;
  thread: Pick<Selectable<ThreadTable>, 'model' | 'system_prompt' | 'auto_approve' | 'mode' | 'allow_shell'>;
  autonomy: ThinkResult['autonomy'];
  chatId: string;
  channel: Channel;
  /** a group chat */
  group: boolean;
  /** by the whole chat */
  spentToday: Spent;
  /** the result of this very step; a retry that finds it pays nothing */
  stored: ThinkResult | null;
}

const subjectOf = compiled('step_subject', (db, turnId: string, key: string) =>
  db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .leftJoin('steps', (join) => join.on('steps.key', '=', key))
    .leftJoin('spending', (join) => join.onRef('spending.chat_id', '=', 'chats.id').on('spending.day', '=', TODAY))
    .select(['turns.status', 'turns.started_at', 'turns.created_at', 'turns.auto_approve', 'turns.model', 'turns.mode', 'turns.allow_shell'])
    .select(['threads.mode as thread_mode', 'threads.allow_shell as thread_allow_shell'])
    .select(['threads.model as thread_model', 'threads.system_prompt', 'threads.auto_approve as thread_auto_approve', 'threads.chat_id', 'chats.autonomy'])
    .select(['chats.channel', 'chats.address'])
    .select(['spending.tokens as spent_tokens', 'spending.micro_usd as spent_micro_usd', 'spending.unpriced as spent_unpriced', 'steps.result as stored'])
    .where('turns.id', '=', turnId),
);

/** Everything about a model step except the dialogue; null when the turn does not exist. */
export async function loadSubject(db: Db, input: ThinkInput): Promise<StepSubject | null> {
  const [row] = (await db.executeQuery(subjectOf(input.turnId, stepKey(input.turnId, input.step)))).rows;
  if (!row) return null;
  const {
    thread_model,
    thread_mode,
    thread_allow_shell,
    system_prompt,
    thread_auto_approve,
    chat_id,
    autonomy,
    channel,
    address,
    spent_tokens,
    spent_micro_usd,
    spent_unpriced,
    stored,
    ...turn
  } = row;
  return {
    turn,
    thread: { model: thread_model, system_prompt, auto_approve: thread_auto_approve, mode: thread_mode, allow_shell: thread_allow_shell },
    autonomy,
    chatId: chat_id,
    channel,
    group: isGroupChat(channel, address),
    spentToday: { tokens: spent_tokens ?? 0, microUsd: spent_micro_usd ?? 0, unpriced: spent_unpriced ?? 0 },
    stored,
  };
}
