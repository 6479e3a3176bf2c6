import type { Generated } from 'kysely';
import type { Created } from '../columns.ts';

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
