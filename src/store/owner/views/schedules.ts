import { sql } from 'kysely';
import type { Inputs } from '../../../domain/routine-inputs.ts';
import type { Db } from '../../postgres/database.ts';

/** Schedules of all chats. */

interface RunOfSchedule {
  id: string;
  scheduled_for: string | null;
  started_at: string;
  ended_at: string | null;
  status: 'running' | 'completed' | 'failed';
  summary: string | null;
}

export interface ScheduleRow {
  id: string;
  chat_id: string;
  name: string;
  /** what runs: the name of a workflow, or a prompt */
  routine: string;
  inputs: Inputs;
  schedule: string;
  /** of an automation */
  rrule: string | null;
  time_zone: string;
  enabled: boolean;
  /** the latest first */
  runs: RunOfSchedule[];
}

/** Crons with their latest runs, by name. */
export async function listSchedules(db: Db, { runs, limit }: { runs: number; limit: number }): Promise<ScheduleRow[]> {
  const { rows } = await sql<ScheduleRow>`
    select crons.id, crons.chat_id, crons.name,
      case when routines.automation then routines.steps->0->'args'->>'prompt' else routines.name end as routine, crons.inputs, crons.schedule, crons.rrule, crons.time_zone,
      crons.enabled,
      coalesce((select jsonb_agg(latest order by latest.started_at desc) from (
        select id, scheduled_for, started_at, ended_at, status, summary from routine_runs
        where cron_id = crons.id order by started_at desc limit ${runs}) as latest), '[]') as runs
    from crons join routines on routines.id = crons.routine_id order by lower(crons.name), crons.id limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** Reminders that wait, the next one first. */
export const listReminders = (db: Db, limit: number) =>
  db
    .selectFrom('reminders')
    .select(['id', 'chat_id', 'what', 'due_at'])
    .where('state', '=', 'waiting')
    .orderBy('due_at')
    .orderBy('id')
    .limit(limit)
    .execute();

/** False when it has been said or removed. */
export async function endReminder(db: Db, id: string): Promise<boolean> {
  const ended = await db
    .updateTable('reminders')
    .set({ state: 'removed' })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .returning('id')
    .executeTakeFirst();
  return ended !== undefined;
}
