import { sql } from 'kysely';
import type { TaskUsed } from '../../../domain/model/budgets.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { type Spent, TODAY } from '../../turns/steps/spending.ts';

/** What a task used of one model, or an increment of it. Tokens are whole, money is in millionths of a US dollar. */
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

/** What a task used of all models, as the gate counted it. */
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
 * What the budgets of a task are compared with: its own usage, and that of all tasks of its chat since midnight UTC.
 */
export async function budgetUse(db: Db | Tx, taskId: string): Promise<TaskUsed> {
  const row = await db
    .selectFrom('tasks')
    .leftJoin('task_spending', (join) =>
      join.onRef('task_spending.chat_id', '=', 'tasks.chat_id').on('task_spending.day', '=', TODAY),
    )
    .select(['task_spending.tokens', 'task_spending.micro_usd', 'task_spending.unpriced'])
    .where('tasks.id', '=', taskId)
    .executeTakeFirst();
  const { tokens, microUsd, unpriced } = await usageOf(db, taskId);
  return {
    tokens,
    microUsd,
    unpriced,
    today: { tokens: row?.tokens ?? 0, microUsd: row?.micro_usd ?? 0, unpriced: row?.unpriced ?? 0 },
  };
}

/** What all tasks of a chat used since midnight UTC. */
export async function taskSpendingToday(db: Db | Tx, chatId: string): Promise<Spent> {
  const row = await db
    .selectFrom('task_spending')
    .select(['tokens', 'micro_usd', 'unpriced'])
    .where('chat_id', '=', chatId)
    .where('day', '=', TODAY)
    .executeTakeFirst();
  return { tokens: row?.tokens ?? 0, microUsd: row?.micro_usd ?? 0, unpriced: row?.unpriced ?? 0 };
}

/**
 * Adds to the counters of a task and of its chat's day in one transaction. Each model may be named once. Throws when
 * the task does not exist.
 */
export async function addTaskUsage(db: Db, taskId: string, increments: readonly ModelUsage[]): Promise<void> {
  if (!increments.length) return;
  await db.transaction().execute(async (tx) => {
    await addToTask(tx, taskId, increments);
    const sum = (of: (one: ModelUsage) => number): number => increments.reduce((total, one) => total + of(one), 0);
    await tx
      .insertInto('task_spending')
      .columns(['chat_id', 'day', 'tokens', 'micro_usd', 'unpriced'])
      .expression((e) =>
        e
          .selectFrom('tasks')
          .where('id', '=', taskId)
          .select([
            'chat_id',
            TODAY.as('day'),
            e.val(sum((one) => one.inputTokens + one.outputTokens)).as('tokens'),
            e.val(sum((one) => one.microUsd)).as('micro_usd'),
            e.val(sum((one) => one.unpriced ?? 0)).as('unpriced'),
          ]),
      )
      .onConflict((c) =>
        c.columns(['chat_id', 'day']).doUpdateSet({
          tokens: sql`task_spending.tokens + excluded.tokens`,
          micro_usd: sql`task_spending.micro_usd + excluded.micro_usd`,
          unpriced: sql`task_spending.unpriced + excluded.unpriced`,
        }),
      )
      .execute();
  });
}

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
