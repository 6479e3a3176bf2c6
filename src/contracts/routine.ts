import type { Effect } from './conversation.ts';
import type { Channel } from './ids.ts';
import type { TaskInput } from './task.ts';

/** What crosses the boundary of the `routine` workflow: one execution of an ordered list of tool calls. */
export interface RoutineInput {
  routineId: string;
  /** where the result is delivered */
  chatId: string;
  /** set when a person or the model started it; a scheduled run derives its id from the workflow id */
  runId?: string;
  cronId?: string;
  /**
   * the call of workflow_run, whose arguments have the inputs of the routine. They are kept with the run when it is
   * opened.
   */
  callId?: string;
  /** why the run ended or cannot go on, where nobody was told yet */
  ended?: string;
}

export interface RoutineStep {
  name: string;
  tool: string;
  args: Record<string, unknown>;
  /** after which outcome of the routine steps before it runs; `ok` when unset */
  when?: RoutineStepWhen;
  /** `continue`: the run goes on as if it had succeeded */
  onFailure?: 'continue';
}

/** The one step of a prompt on a schedule. It is no tool: it begins a turn, and ends with it. */
export const PROMPT_STEP = 'prompt';
/** Arguments of that step. */
export interface PromptArgs {
  prompt: string;
  /** the first is the workspace of the thread */
  cwds: string[];
  allow_shell: boolean;
  auto_approve: boolean;
  /** it runs as a turn of its chat; unset: in a conversation of its own, for which the fields above are */
  context?: 'group';
}

export const STEP_WHEN = ['ok', 'failed', 'always'] as const;
type RoutineStepWhen = (typeof STEP_WHEN)[number];

export interface RoutineResult {
  runId: string;
  /** `coalesced`: a later firing runs in place of this one and says so */
  status: 'completed' | 'failed' | 'coalesced';
  outboxId: string | null;
}

export interface OpenInput extends RoutineInput {
  runId: string;
  workflowId: string;
  /** RFC 3339; null when no schedule started it */
  scheduledFor: string | null;
}
export interface OpenedRun {
  /** not opened: a later firing of the same cron is due and runs in place of this one */
  coalesced?: true;
  /** not opened yet: the previous run is still at work */
  wait?: true;
  /** it was opened, and cannot run: what it is given does not fit its routine */
  problem?: string;
  name: string;
  channel: Channel;
  /** policy of each routine step as of now; arguments stay in the store */
  steps: OpenedStep[];
}
export interface OpenedStep extends Pick<RoutineStep, 'tool' | 'when' | 'onFailure'> {
  effect: Effect;
  timeoutMs: number;
  /** of the host that has the workspace, for tools of the kennel */
  queue?: string;
}
export interface StepInput {
  runId: string;
  index: number;
  /** do not run the tool: use the stored outcome, or store this one */
  settle?: string;
  /** do not run the tool: the routine steps before it did not end as it needs */
  skip?: true;
  /** see `RoutineInput` */
  callId?: string;
}
export interface StepResult {
  ok: boolean;
  /**
   * the routine step has created a coding task, whose result is its own. Unset by releases that did not wait for it.
   */
  awaitsTask?: true;
  /** a coding task that the routine step created; started as a child */
  task?: TaskInput;
}
export interface CloseInput {
  runId: string;
  status: 'completed' | 'failed';
  /** number of routine steps, for the summary */
  steps: number;
  reason?: string;
}

/** Activities of one execution of a routine. All but `runRoutineStep` are local: they use only our own store. */
export interface RoutineActivities {
  /** null when the routine or its chat is gone */
  openRun(input: OpenInput): Promise<OpenedRun | null>;
  runRoutineStep(input: StepInput): Promise<StepResult>;
  /**
   * Takes over the result of the coding task that a routine step has created. `over` is false while the task goes on.
   */
  endTaskStep(input: { runId: string; index: number }): Promise<{ over: boolean; ok: boolean }>;
  /** the outbox id of the result */
  closeRun(input: CloseInput): Promise<string>;
}
