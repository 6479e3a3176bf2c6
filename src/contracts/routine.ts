/** What crosses the boundary of the `routine` workflow: one execution of an ordered list of tool calls. */
export interface RoutineInput {
  routineId: string;
  /** where the result is delivered */
  chatId: string;
  /** set when a person or the model started it; a firing of a cron derives its id from the workflow id */
  runId?: string;
  cronId?: string;
}

export interface RoutineStep {
  name: string;
  tool: string;
  args: Record<string, unknown>;
}

export interface RoutineResult {
  runId: string;
  status: 'completed' | 'failed';
  outboxId: string | null;
}
