import type { Decision } from './decision.ts';
import type { Channel } from './ids.ts';
import type { HarnessName, RunOutcome } from './kennel.ts';

/** What crosses the boundary of the `codingTask` workflow: ids, verdicts and sizes; texts stay in the store. */

export type TaskState = 'queued' | 'running' | 'waiting' | 'paused' | 'completed' | 'failed' | 'cancelled';

export interface TaskInput {
  taskId: string;
  chatId: string;
  channel: Channel;
  /** where its workspace and its containers are */
  host: string;
  harness: HarnessName;
  /** shown to operators; not private by the rules of workspace names */
  workspace: string;
  limits: TaskLimits;
  waits: { remindAfterMs: number; expireAfterMs: number };
  /** where a task goes on whose workflow was lost with its server; 1 otherwise */
  firstStep?: number;
  /** the question that it waited for when its workflow was lost: its session is ended, and resumed with the answer */
  parked?: { questionId: string; title: string; decided?: Decision };
  /** it had ended before its records were put back to an earlier time: what is left is its report */
  ended?: { state: Concluded['state']; reason: string };
  /** set when the task has continued as new */
  carried?: CarriedTask;
}

/** What a task takes along when it continues as new. */
export interface CarriedTask {
  /** on another host than the one that it began on */
  host: string;
  decisions: Record<string, Decision>;
  workedMs: number;
  spent: TaskSpending;
  pauses: number;
  /** outbox rows that wait for their channel */
  unsent: Array<{ summary: string; outboxId: string }>;
  /** null while it waits for its workspace */
  work: CarriedWork | null;
}

export interface CarriedWork {
  first: number;
  step: number;
  offset: number;
  deaths: number;
  asked: { id: string; title: string } | null;
}

export interface TaskLimits {
  /** time at work; waits for a person, for the workspace and pauses do not count */
  workMs: number;
  /** a harness that says nothing for this long is ended */
  silenceMs: number;
  /** a question holds its container for this long; then the session is ended, and resumed with the answer */
  holdMs: number;
  /** a host that takes no work for this long counts as away */
  awayMs: number;
  /** continue-as-new above this many history events */
  maxHistoryEvents?: number;
}

export interface TaskSpending {
  tokens: number;
  microUsd: number;
}

/** What `follow` stopped at. `offset`: bytes of the log that are stored. */
export type Followed = { offset: number; spent: TaskSpending } /** nothing is needed: what operators see is renewed, at most once in `progressMs` */ & (
  | { what: 'progress'; doing: string }
  | { what: 'question'; questionId: string; title: string }
  | { what: 'permission'; questionId: string; title: string }
  | { what: 'ended'; outcome: RunOutcome; reason: string }
  /** the container is gone without a last line: killed, out of memory, or the host restarted */
  | { what: 'gone'; reason: string; oom: boolean }
  | { what: 'silent' }
  /** the time at work is used up */
  | { what: 'timeout' }
  /** money, tokens or room on the disk are used up */
  | { what: 'budget'; reason: string }
);

export interface FollowInput {
  taskId: string;
  step: number;
  offset: number;
  silenceMs: number;
  /** milliseconds of work that are left */
  remainingMs: number;
  progressMs: number;
}

export interface BeginInput {
  taskId: string;
  step: number;
  holdMs: number;
  /** the first of a workflow: files, HEAD and index are remembered before the harness starts */
  checkpoint: boolean;
}

export interface Concluded {
  state: 'completed' | 'failed' | 'cancelled';
  outboxId: string;
  filesChanged: number;
  /** workflow ids of tasks that wait for this workspace, the oldest first */
  waiting: string[];
}

/** Activities that run on the host of the task, on `kennel-<host>`. */
export interface TaskActivities {
  /** the image, and the worktree where the task has one; idempotent */
  prepareTask(input: { taskId: string }): Promise<void>;
  /** starts the container of a step, or finds it, beside the checkpoint of the workspace (a second call finds the first one's); waits in retries while the host has no free place */
  beginStep(input: BeginInput): Promise<void>;
  /** follows the log until something needs the workflow; heartbeats carry the offset */
  follow(input: FollowInput): Promise<Followed>;
  /** writes the decision where the runner reads it */
  passOn(input: { taskId: string; step: number; questionId: string }): Promise<void>;
  /** ends the container and sees that it is gone */
  endStep(input: { taskId: string; step: number }): Promise<void>;
  setPaused(input: { taskId: string; step: number; paused: boolean }): Promise<boolean>;
  /** commit, differences, tests, report: everything that is there when the person is told */
  conclude(input: { taskId: string; state: Concluded['state']; reason: string }): Promise<Concluded>;
}

/** Local activities: our own store only. */
export interface TaskRecordActivities {
  /** true when the workspace is this task's now; false while another has it. What was ordered before there was a workflow to hear it: `pause` with the workspace, `cancel` without */
  claimWorkspace(taskId: string): Promise<boolean | 'cancel' | 'pause'>;
  setTaskState(input: { taskId: string; state: TaskState; note?: string }): Promise<void>;
  /** opens the question; `decided` when the answer is there already */
  askForTask(input: { taskId: string; questionId: string }): Promise<{ outboxId: string; decided?: Decision }>;
  remindForTask(questionId: string): Promise<string | null>;
  expireForTask(questionId: string): Promise<boolean>;
  /** what is told when the host of a task does not answer; the outbox id, once for a task and reason */
  tellTask(input: { taskId: string; key: string; text: string }): Promise<string>;
  /** another host that is there and has the workspace, when the task's own has been gone for long; the task is that host's from then on */
  moveTask(input: { taskId: string; from: string }): Promise<string | null>;
}

export interface TaskView {
  state: TaskState;
  doing: string;
  waitingFor: string | null;
  step: number;
}
