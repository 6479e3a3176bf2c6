import type { ColumnType, Generated } from 'kysely';
import type { RoutineStep } from '../../../contracts/routine.ts';
import type { Source } from '../../../contracts/taint.ts';
import type { Inputs } from '../../../domain/routine-inputs.ts';
import type { Created, Defaulted, Json, NullableJson } from '../columns.ts';

/** Row types of a chat's routines, their schedules and their runs. */

export interface RoutineTable {
  id: string;
  chat_id: string;
  name: string;
  description: string;
  workspace: string | null;
  steps: Json<RoutineStep[]>;
  /** sources that the creating turn had read, when no person was asked */
  sources: Defaulted<Source[]>;
  /** it is the prompt of a schedule, and no tool lists it */
  automation: Generated<boolean>;
  created_at: Created;
  updated_at: ColumnType<Date, Date | undefined, Date>;
}

export interface RoutineRunTable {
  id: string;
  routine_id: string;
  routine_name: string;
  chat_id: string;
  cron_id: string | null;
  workflow_id: string;
  scheduled_for: Date | null;
  status: 'running' | 'completed' | 'failed';
  summary: string | null;
  /** one entry for each routine step: name, tool, ok, output */
  results: Json<Array<{ name: string; tool: string; ok: boolean; output: string; skipped?: true }>>;
  /** the last routine step with effect `once` that began, counted from 1; 0 for none */
  once_begun: Generated<number>;
  /** what the run tells about missed firings */
  note: Generated<string | null>;
  /** what it was given; null for a run that an earlier release opened */
  inputs: NullableJson<Inputs>;
  /** whose text is in the inputs, when no person was asked */
  sources: Defaulted<Source[]>;
  started_at: Created;
  ended_at: Date | null;
}

export interface CronTable {
  id: string;
  routine_id: string;
  chat_id: string;
  name: string;
  schedule: string;
  time_zone: string;
  enabled: Generated<boolean>;
  created_at: Created;
  /** earlier firings do not count as missed, because the cron was off or did not exist */
  enabled_since: Generated<Date>;
  /** the latest firing that ran, by its time on the schedule */
  last_fired: Generated<Date | null>;
  /** what its runs are given */
  inputs: Defaulted<Inputs>;
  /** whose text is in the inputs, when no person was asked */
  sources: Defaulted<Source[]>;
  /** set for an automation: its rule as clients wrote it, in capitals */
  rrule: ColumnType<string | null, string | null | undefined, string | null>;
  /**
   * its schedule does not have the state of the row yet. Otherwise the schedule counts, which a person may pause in the
   * Web UI.
   */
  unsent: Generated<boolean>;
  updated_at: ColumnType<Date, Date | undefined, Date>;
}

/** What a person wants to be told once. */
export interface ReminderTable {
  id: string;
  chat_id: string;
  what: string;
  /** sources of foreign text: a member of a group asked for it */
  sources: Json<Source[]>;
  due_at: Date;
  state: Generated<'waiting' | 'said' | 'removed'>;
  created_at: Created;
}

export interface RoutineDatabase {
  routines: RoutineTable;
  routine_runs: RoutineRunTable;
  crons: CronTable;
  reminders: ReminderTable;
}

/** What runs on a thread of its own, without a person who waits for its answer. */
export interface BackgroundTaskTable {
  id: string;
  thread_id: string;
  /** its one turn, and the row by which its conversation was signalled */
  turn_id: string;
  inbox_id: string;
  /** its turn starts a coding task */
  coding: Generated<boolean>;
  /** the run of an automation that started it */
  run_id: string | null;
  created_at: Created;
}

export interface BackgroundDatabase {
  background_tasks: BackgroundTaskTable;
}
