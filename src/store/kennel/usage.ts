import { sql } from 'kysely';
import type { Db, Tx } from '../database.ts';

/** What a task used of one model, or an increment of it. Tokens are whole, money is in millionths of a US dollar. */
export interface ModelUsage {
  model: string;
  calls: number;
  /** including what the provider's cache held */
  inputTokens: number;
  /** including reasoning */
  outputTokens: number;
  microUsd: number;
}

/** What a task used of all models, as the gate counted it. */
export interface TaskUsage {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** input and output: what FETCH_TASK_MAX_TOKENS bounds */
  tokens: number;
  microUsd: number;
  /** the dearest first */
  models: ModelUsage[];
}

/** Usage of a task so far; all zero for one that called no model. */
export async function usageOf(db: Db | Tx, taskId: string): Promise<TaskUsage> {
  const rows = await db.selectFrom('task_usage').selectAll().where('task_id', '=', taskId).orderBy('micro_usd', 'desc').orderBy('model').execute();
  const models = rows.map((row) => ({
    model: row.model,
    calls: row.calls,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    microUsd: row.micro_usd,
  }));
  const sum = (field: Exclude<keyof ModelUsage, 'model'>): number => models.reduce((total, row) => total + row[field], 0);
  const inputTokens = sum('inputTokens');
  const outputTokens = sum('outputTokens');
  return { calls: sum('calls'), inputTokens, outputTokens, tokens: inputTokens + outputTokens, microUsd: sum('microUsd'), models };
}

/** Adds to the counters of a task in one statement; each model may be named once. Throws for a task that is not there. */
export async function addTaskUsage(db: Db | Tx, taskId: string, increments: readonly ModelUsage[]): Promise<void> {
  if (!increments.length) return;
  await db
    .insertInto('task_usage')
    .values(
      increments.map((one) => ({
        task_id: taskId,
        model: one.model,
        calls: one.calls,
        input_tokens: one.inputTokens,
        output_tokens: one.outputTokens,
        micro_usd: one.microUsd,
      })),
    )
    .onConflict((c) =>
      c.columns(['task_id', 'model']).doUpdateSet({
        calls: sql`task_usage.calls + excluded.calls`,
        input_tokens: sql`task_usage.input_tokens + excluded.input_tokens`,
        output_tokens: sql`task_usage.output_tokens + excluded.output_tokens`,
        micro_usd: sql`task_usage.micro_usd + excluded.micro_usd`,
      }),
    )
    .execute();
}
