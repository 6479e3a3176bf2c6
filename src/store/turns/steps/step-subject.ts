import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import { isGroupChat } from '../../../contracts/channels.ts';
import type { ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { type Channel, stepKey } from '../../../contracts/ids.ts';
import type { Preferences } from '../../../domain/chat/preferences.ts';
import type { BudgetFacts } from '../../../domain/model/spending.ts';
import { compiled } from '../../postgres/compiled-query.ts';
import type { Db } from '../../postgres/database.ts';
import type { Database } from '../../schema/schema.ts';
import type { ThreadTable } from '../../schema/tables/chats.ts';
import type { TurnTable } from '../../schema/tables/turns.ts';
import { type KnownLimit, msUntil } from '../limits.ts';
import { agreedNow } from '../turn-extensions.ts';
import { budgetFacts } from './spending.ts';

export interface StepSubject {
  turn: Pick<
    Selectable<TurnTable>,
    | 'status'
    | 'started_at'
    | 'created_at'
    | 'auto_approve'
    | 'model'
    | 'mode'
    | 'allow_shell'
    | 'call'
    | 'compaction'
    | 'run_id'
  >;
  thread: Pick<
    Selectable<ThreadTable>,
    'model' | 'system_prompt' | 'auto_approve' | 'mode' | 'allow_shell' | 'families'
  >;
  autonomy: ThinkResult['autonomy'];
  /** who judges where the chat is judged: a model, or rules alone (null); undefined where it is not */
  judge: string | null | undefined;
  preferences: Preferences;
  chatId: string;
  channel: Channel;
  /** a group chat */
  group: boolean;
  /** what the budgets of the turn are compared with */
  budgets: BudgetFacts;
  /** the time zone of the owner, for the day of what it spends */
  zone: string;
  /** the run of a schedule that it belongs to */
  run: { cronId: string | null; account: string } | undefined;
  /** total spend of the chat, without this step if it is not stored yet */
  spentEver: number;
  /** limits that others have met, by model */
  limits: Record<string, KnownLimit>;
  /**
   * hashes of the extensions that the turn works with: those of its first step, or those that are agreed to now;
   * `kept`: the turn has them already
   */
  extensions: { hashes: readonly string[]; kept: boolean };
  /** the result of this very step; a retry that finds it pays nothing */
  stored: ThinkResult | null;
}

/** The endpoint of a step, and the models that are asked where a chat names none. */
interface StepModel {
  account: string;
  name: string;
  fallback?: string | undefined;
}

/**
 * Limits of the models that the step may ask. There is rarely one, so reading them here costs less than asking when
 * there is.
 */
const limitsOf = (
  e: ExpressionBuilder<Database, 'turns' | 'threads' | 'chats'>,
  account: string,
  name: string,
  fallback: string,
) =>
  e
    .selectFrom('model_limits')
    .select(
      sql<Record<
        string,
        KnownLimit
      > | null>`json_object_agg(model, json_build_object('kind', kind, 'named', named, 'opensInMs', ${msUntil('until')}))`.as(
        'all',
      ),
    )
    .where('account', '=', account)
    .where((w) =>
      w.or([
        w('model', 'in', [name, fallback]),
        w('model', '=', w.ref('turns.model')),
        w('model', '=', w.ref('threads.model')),
        sql<boolean>`model = chats.preferences->>'model'`,
      ]),
    );

const spentEver = (e: ExpressionBuilder<Database, 'chats'>) =>
  e
    .selectFrom('spending as ever')
    .select(sql<number>`coalesce(sum(micro_usd), 0)::float8`.as('micro_usd'))
    .whereRef('ever.chat_id', '=', 'chats.id');

const subjectOf = compiled(
  'step_subject',
  (db, turnId: string, key: string, account: string, name: string, fallback: string, zone: string) =>
    db
      .selectFrom('turns')
      .innerJoin('threads', 'threads.id', 'turns.thread_id')
      .innerJoin('chats', 'chats.id', 'threads.chat_id')
      .leftJoin('steps', (join) => join.on('steps.key', '=', key))
      .leftJoin('background_tasks', 'background_tasks.thread_id', 'threads.id')
      .leftJoin('routine_runs', (join) =>
        join.on('routine_runs.id', '=', sql`coalesce(turns.run_id, background_tasks.run_id)`),
      )
      .select([
        'turns.status',
        'turns.started_at',
        'turns.created_at',
        'turns.auto_approve',
        'turns.model',
        'turns.mode',
        'turns.allow_shell',
        'turns.call',
        'turns.compaction',
        'turns.run_id',
      ])
      .select(['turns.extensions', agreedNow.as('agreed_now')])
      .select(['threads.mode as thread_mode', 'threads.allow_shell as thread_allow_shell', 'threads.families'])
      .select([
        'threads.model as thread_model',
        'threads.system_prompt',
        'threads.auto_approve as thread_auto_approve',
        'threads.chat_id',
        'chats.autonomy',
        'chats.judged',
        'chats.judge_model',
      ])
      .select(['chats.channel', 'chats.address', 'chats.preferences'])
      .select(['routine_runs.chat_id as run_chat', 'routine_runs.cron_id as run_cron', 'steps.result as stored'])
      .select(() =>
        budgetFacts({
          of: sql`turns.id`,
          account: sql`coalesce(routine_runs.chat_id, chats.id)`,
          cron: sql`routine_runs.cron_id`,
          level: 'turn',
          own: sql`select input_tokens + output_tokens as tokens, micro_usd, coalesce((result->'usage'->>'unpriced')::numeric, 0) as unpriced
            from steps as own where own.turn_id = turns.id`,
          zone,
        }).as('budgets'),
      )
      .select((e) => spentEver(e).as('spent_ever'))
      .select((e) => limitsOf(e, account, name, fallback).as('limits'))
      .where('turns.id', '=', turnId),
);

/** Everything about a model step except the dialogue; null when the turn does not exist. */
export async function loadSubject(
  db: Db,
  input: ThinkInput,
  { account, name, fallback }: StepModel,
  zone: string,
): Promise<StepSubject | null> {
  const key = stepKey(input.turnId, input.step);
  const [row] = (await db.executeQuery(subjectOf(input.turnId, key, account, name, fallback ?? name, zone))).rows;
  if (!row) return null;
  const {
    thread_model,
    thread_mode,
    thread_allow_shell,
    families,
    system_prompt,
    thread_auto_approve,
    chat_id,
    autonomy,
    judged,
    judge_model,
    preferences,
    channel,
    address,
    run_chat,
    run_cron,
    budgets,
    spent_ever,
    stored,
    limits,
    extensions,
    agreed_now,
    ...turn
  } = row;
  return {
    turn,
    thread: {
      model: thread_model,
      system_prompt,
      auto_approve: thread_auto_approve,
      mode: thread_mode,
      allow_shell: thread_allow_shell,
      families,
    },
    autonomy,
    judge: judged && autonomy === 'cautious' ? judge_model : undefined,
    preferences,
    chatId: chat_id,
    channel,
    group: isGroupChat(channel, address),
    budgets,
    zone,
    run: run_chat === null ? undefined : { cronId: run_cron, account: run_chat },
    spentEver: spent_ever ?? 0,
    limits: limits ?? {},
    extensions: { hashes: extensions ?? agreed_now ?? [], kept: extensions !== null },
    stored,
  };
}
