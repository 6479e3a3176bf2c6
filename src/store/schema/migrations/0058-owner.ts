import { type Kysely, sql } from 'kysely';

/**
 * What the owner's page asks of all chats at once: what failed lately, the latest tasks, and what was spent on a day.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index turns_failed on turns (ended_at) where status = 'failed';
    create index tasks_failed on tasks (ended_at) where state = 'failed';
    create index routine_runs_failed on routine_runs (ended_at) where status = 'failed';
    create index outbox_failed on outbox (created_at) where state = 'failed';
    create index tasks_created on tasks (created_at, id);
    create index spending_day on spending (day);
    create index task_spending_day on task_spending (day);
    create index wa_groups_jid on wa_groups (jid);
    create index steps_created on steps (created_at) include (turn_id, model, input_tokens, output_tokens, micro_usd);
  `.execute(db);
}
