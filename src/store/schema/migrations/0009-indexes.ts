import { type Kysely, sql } from 'kysely';

/**
 * Indexes that statements of a turn, of an intake and of a sweep need on tables of a million rows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index transcript_turn on transcript (turn_id);
    create index questions_turn on questions (turn_id);
    create index questions_task on questions (task_id, asked_at) where task_id is not null;
    create index outbox_queued_chat on outbox (chat_id, ord) where state = 'queued';
    create index routine_runs_running on routine_runs (id) where status = 'running';
    create index routine_runs_chat on routine_runs (chat_id, started_at desc);
    create index routine_runs_cron on routine_runs (cron_id, started_at desc);
    create index tasks_open on tasks (id) where ended_at is null;
    create index wa_sends_created on wa_sends (created_at);
    -- what is to be emptied when it is old: without these an hourly look would read every message that ever was
    create index wa_inbox_kept on wa_inbox (account, handled_at) where octet_length(content) > 0;
    create index wa_sends_kept on wa_sends (account, created_at) where octet_length(content) > 0;
  `.execute(db);
}
