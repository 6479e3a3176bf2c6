import { sql } from 'kysely';
import type { BudgetFacts } from '../../../domain/model/spending.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { addedTo, budgetFacts, today } from '../../turns/steps/spending.ts';

/** Usage of one model by a task, or an increment of it. Tokens are whole, money is in millionths of a US dollar. */
export interface ModelUsage {
  model: string;
  calls: number;
  /** including tokens from the provider's cache */
  inputTokens: number;
  /** including reasoning */
  outputTokens: number;
  microUsd: number;
  /** the part that counts at the highest known price, because the right price is unknown */
  unpriced?: number;
}

/** Usage of all models by a task, as the gate counted it. */
export interface TaskUsage {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** input and output; FETCH_TASK_MAX_TOKENS limits it */
  tokens: number;
  microUsd: number;
  unpriced: number;
  /** the most expensive first */
  models: ModelUsage[];
}

/** Usage of a task so far; zero for a task that called no model. */
export async function usageOf(db: Db | Tx, taskId: string): Promise<TaskUsage> {
  const rows = await db
    .selectFrom('task_usage')
    .selectAll()
    .where('task_id', '=', taskId)
    .orderBy('micro_usd', 'desc')
    .orderBy('model')
    .execute();
  const models = rows.map((row) => ({
    model: row.model,
    calls: row.calls,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    microUsd: row.micro_usd,
    ...(row.unpriced > 0 && { unpriced: row.unpriced }),
  }));
  const sum = (field: Exclude<keyof ModelUsage, 'model'>): number =>
    models.reduce((total, row) => total + (row[field] ?? 0), 0);
  const inputTokens = sum('inputTokens');
  const outputTokens = sum('outputTokens');
  const tokens = inputTokens + outputTokens;
  return {
    calls: sum('calls'),
    inputTokens,
    outputTokens,
    tokens,
    microUsd: sum('microUsd'),
    unpriced: sum('unpriced'),
    models,
  };
}

/**
 * The run of a schedule to which a task belongs: one that began its turn or its thread, or one whose step made it. Its
 * schedule is null for a run that a person started.
 */
const RUN = sql`lateral (
  select r.cron_id, case when b.run_id is null then null else r.chat_id end as account
  from tasks as of_run left join background_tasks b on b.thread_id = of_run.thread_id left join turns began on began.id = of_run.turn_id
    join routine_runs r on r.id = coalesce(began.run_id, b.run_id, regexp_replace(of_run.call_id, '_[0-9]+$', ''))
  where of_run.id = tasks.id limit 1)`;

/** What the budgets of a task are compared with; undefined when there is no such task. */
export async function budgetsOfTask(db: Db | Tx, taskId: string, zone: string): Promise<BudgetFacts | undefined> {
  const facts = budgetFacts({
    // tasks that began together share the budget of one, and what is granted beyond it
    of: sql`coalesce(tasks.race_id, tasks.id)`,
    account: sql`coalesce(run.account, tasks.chat_id)`,
    cron: sql`run.cron_id`,
    level: 'task',
    own: sql`select input_tokens + output_tokens as tokens, micro_usd, unpriced from task_usage
      where task_id in (select beside.id from tasks as beside where beside.id = tasks.id or beside.race_id = tasks.race_id)`,
    zone,
  });
  const { rows } = await sql<{ facts: BudgetFacts }>`
    select ${facts} as facts from tasks left join ${RUN} run on true where tasks.id = ${taskId}`.execute(db);
  return rows[0]?.facts;
}

/**
 * Adds to the counters of a task and of its chat's day in one transaction. Each model may be named once. Throws when
 * the task does not exist.
 */
export async function addTaskUsage(
  db: Db,
  taskId: string,
  increments: readonly ModelUsage[],
  zone: string,
): Promise<void> {
  if (!increments.length) return;
  await db.transaction().execute(async (tx) => {
    await addToTask(tx, taskId, increments);
    const sum = (of: (one: ModelUsage) => number): number => increments.reduce((total, one) => total + of(one), 0);
    const spent = sql`${today(zone)}, ${sum((one) => one.inputTokens + one.outputTokens)}::bigint,
      ${sum((one) => one.microUsd)}::bigint, ${sum((one) => one.unpriced ?? 0)}::bigint`;
    await sql`insert into task_spending (chat_id, day, tokens, micro_usd, unpriced)
      select chat_id, ${spent} from tasks where id = ${taskId}
      on conflict (chat_id, day) do update set ${added('task_spending')}`.execute(tx);
    await sql`insert into schedule_spending (cron_id, kind, account, day, tokens, micro_usd, unpriced)
      select run.cron_id, 'tasks', run.account, ${spent} from tasks join ${RUN} run on true
      where tasks.id = ${taskId} and run.cron_id is not null
      on conflict (cron_id, day, kind) do update set ${added('schedule_spending')}`.execute(tx);
  });
}

const added = (table: 'task_spending' | 'schedule_spending') => {
  const { tokens, micro_usd, unpriced } = addedTo(table);
  return sql`tokens = ${tokens}, micro_usd = ${micro_usd}, unpriced = ${unpriced}`;
};

async function addToTask(tx: Tx, taskId: string, increments: readonly ModelUsage[]): Promise<void> {
  await tx
    .insertInto('task_usage')
    .values(
      increments.map((one) => ({
        task_id: taskId,
        model: one.model,
        calls: one.calls,
        input_tokens: one.inputTokens,
        output_tokens: one.outputTokens,
        micro_usd: one.microUsd,
        unpriced: one.unpriced ?? 0,
      })),
    )
    .onConflict((c) =>
      c.columns(['task_id', 'model']).doUpdateSet({
        calls: sql`task_usage.calls + excluded.calls`,
        input_tokens: sql`task_usage.input_tokens + excluded.input_tokens`,
        output_tokens: sql`task_usage.output_tokens + excluded.output_tokens`,
        micro_usd: sql`task_usage.micro_usd + excluded.micro_usd`,
        unpriced: sql`task_usage.unpriced + excluded.unpriced`,
      }),
    )
    .execute();
}
