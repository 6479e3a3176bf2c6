import type { Decision } from './decision.ts';
import type { Channel } from './ids.ts';
import type { AgentName, RunOutcome } from './kennel.ts';

/** What crosses the boundary of the `codingTask` workflow: ids, verdicts and sizes; texts stay in the store. */

export type TaskState = 'queued' | 'running' | 'waiting' | 'paused' | 'completed' | 'failed' | 'cancelled';

export interface TaskInput {
  taskId: string;
  chatId: string;
  channel: Channel;
  /** host of its workspace and containers */
  host: string;
  harness: AgentName;
  /** name for operators; workspace names are never private */
  workspace: string;
  limits: TaskLimits;
  waits: { remindAfterMs: number; expireAfterMs: number };
  /** number of the first run, for a task that continues after its workflow was lost with its server; 1 otherwise */
  firstStep?: number;
  /** the question that it waited for when its workflow was lost: its session is ended, and resumed with the answer */
  parked?: { questionId: string; title: string; decided?: Decision };
  /**
   * It begins with a plan, and changes nothing before a person has agreed to it. `handedIn`: its workflow was lost
   * while the plan of the first run waited for that.
   */
  plan?: { handedIn?: true };
  /** it had ended before its records were restored to an earlier time; only its report is still to do */
  ended?: { state: Concluded['state']; reason: string };
  /** set when the task has continued as new */
  carried?: CarriedTask;
}

/** What a task takes along when it continues as new. */
export interface CarriedTask {
  /** set when the task moved to another host than its first */
  host: string;
  decisions: Record<string, Decision>;
  workedMs: number;
  spent: TaskSpending;
  pauses: number;
  /** outbox rows that wait for their channel */
  unsent: Array<{ summary: string; outboxId: string }>;
  /** null while it waits for its workspace */
  work: CarriedWork | null;
  /** the agent that works now, when a person has chosen another one */
  harness?: AgentName;
}

export interface CarriedWork {
  first: number;
  step: number;
  offset: number;
  deaths: number;
  asked: { id: string; title: string } | null;
  limited?: LimitedSoFar;
  /** no plan is agreed to yet: its runs can only read */
  plans?: true;
}

/** How long a task waited for limits of its model. */
export interface LimitedSoFar {
  /** in all, ms */
  waitedMs: number;
  /** waits after each of which the model refused again */
  inVain: number;
  /** the end that the person was told of, ms since the epoch */
  toldUntil: number | null;
}

interface TaskLimits {
  /** working time; waiting for a person or for the workspace, and pauses, do not count */
  workMs: number;
  /** an agent that is silent for this long is ended */
  silenceMs: number;
  /** how long a question holds its container; then the session is ended, and resumed with the answer */
  holdMs: number;
  /** a host that takes no work for this long counts as away */
  awayMs: number;
  /** longest time in all that it waits for usage limits */
  limitedMs?: number;
  /** continue-as-new above this many history events */
  maxHistoryEvents?: number;
}

export interface TaskSpending {
  tokens: number;
  microUsd: number;
}

/** Why `follow` returned. `offset`: bytes of the log that are stored. */
export type Followed = {
  offset: number;
  spent: TaskSpending;
} /** nothing is needed: what operators see is renewed, at most once in `progressMs` */ & (
  | { what: 'progress'; doing: string }
  | { what: 'question'; questionId: string; title: string }
  | { what: 'permission'; questionId: string; title: string }
  | { what: 'ended'; outcome: RunOutcome; reason: string }
  /** the container is gone without a last line: killed, out of memory, or the host restarted */
  | { what: 'gone'; reason: string; oom: boolean }
  /** its model refuses it until then, in ms since the epoch: its container only wastes its time */
  | ({ what: 'limit' } & ModelLimit)
  /** it waits for hosts that a person must allow */
  | { what: 'egress'; questionId: string; title: string }
  | { what: 'silent' }
  /** the working time is used up */
  | { what: 'timeout' }
  /** money, tokens or disk space are used up */
  | ({ what: 'budget' } & BudgetStop)
  /** the agent has ended its turn, and a person has said more meanwhile: its session goes on in another run */
  | { what: 'told' }
);

/** `asks`: the question whether more may be spent; without it the task ends. `opensAt`: ms since the epoch. */
export interface BudgetStop {
  reason: string;
  asks?: { questionId: string; opensAt: number | null };
}

/**
 * `limit`: a rate or usage limit. `overload`: the endpoint has too much to do, which is a matter of minutes. `budget`:
 * the owner's own limit of a day.
 */
export type LimitKind = 'limit' | 'overload' | 'budget';

export interface ModelLimit {
  kind: LimitKind;
  /** ms since the epoch */
  opensAt: number;
  /** the model said so, or it is the end of a budget's day */
  named: boolean;
}

export interface FollowInput {
  taskId: string;
  step: number;
  offset: number;
  silenceMs: number;
  /** working time that is left, in ms */
  remainingMs: number;
  progressMs: number;
  /** the workflow waits for limits; one of an earlier release ends the task at them */
  waitsForLimits?: true;
  /** the workflow asks about hosts */
  asksForHosts?: true;
  /** the workflow asks whether more may be spent; one of an earlier release ends the task, or waits for the next day */
  asksAtBudget?: true;
  /** the workflow starts another run for words that came too late for this one */
  tells?: true;
}

export interface BeginInput {
  taskId: string;
  step: number;
  holdMs: number;
  /** the first run of a workflow: files, HEAD and index are saved before the agent starts */
  checkpoint: boolean;
  waitsForLimits?: true;
  asksAtBudget?: true;
  /** it can only read, and hands in a plan */
  plan?: true;
}

/** The container was not started, because the agent could only be refused. */
export type HeldBack = { limit: ModelLimit } | { budget: BudgetStop };

export interface Concluded {
  state: 'completed' | 'failed' | 'cancelled';
  outboxId: string;
  filesChanged: number;
  /** workflow ids of tasks that wait for this workspace, oldest first */
  waiting: string[];
}

/** A question about the environment of the repository, which must be answered before the first run. */
export interface AgreementAsked {
  questionId: string;
  outboxId: string;
  title: string;
}

/** An earlier release returns nothing. */
export interface Prepared {
  /** the agent that the image is for: a person may have chosen another one */
  harness: AgentName;
  /** outbox id of a question that nothing waits for */
  ask?: string;
  /** outbox id of the message that says what the environment of the repository lacks; the same in every attempt */
  notice?: string;
  /** a person must say first whether its project may use its registries */
  hosts?: { questionId: string; title: string };
  /** nothing is prepared before a person has answered this */
  agreement?: AgreementAsked;
}

/** Activities that run on the host of the task, on `kennel-<host>`. */
export interface TaskActivities {
  /** prepares the image, and the worktree where the task has one; idempotent */
  prepareTask(input: { taskId: string }): Promise<Prepared | undefined>;
  /**
   * starts the container of a run, or finds it, while the workspace is checkpointed (a second call finds both); retried
   * while the host has no free slot
   */
  beginStep(input: BeginInput): Promise<HeldBack | undefined>;
  /** follows the log until the workflow is needed; heartbeats carry the offset */
  follow(input: FollowInput): Promise<Followed>;
  /** writes the decision where the runner reads it */
  passOn(input: { taskId: string; step: number; questionId: string }): Promise<void>;
  /**
   * ends the container and checks that it is gone; `kills`: without telling the agent, so that its turn is interrupted
   * and not taken back
   */
  endStep(input: { taskId: string; step: number; kills?: true }): Promise<void>;
  setPaused(input: { taskId: string; step: number; paused: boolean }): Promise<boolean>;
  /** commit, differences, tests, report: all that must exist when the person is told */
  conclude(input: { taskId: string; state: Concluded['state']; reason: string }): Promise<Concluded>;
}

/** The question that asks for a yes to a plan; `decided` when there is one already. */
export interface PlanAsked {
  questionId: string;
  outboxId: string;
  decided?: Decision;
  /** nobody answered in time */
  expired?: true;
}

/** Local activities: they use only our own store. */
export interface TaskRecordActivities {
  /**
   * True when the workspace now belongs to this task, false while another task has it. Else an order that came before
   * the workflow could hear it: `pause` comes with the workspace, `cancel` without.
   */
  claimWorkspace(taskId: string): Promise<boolean | 'cancel' | 'pause'>;
  setTaskState(input: { taskId: string; state: TaskState; note?: string }): Promise<void>;
  /** opens the question; `decided` when the answer is already there */
  askForTask(input: { taskId: string; questionId: string }): Promise<{ outboxId: string; decided?: Decision }>;
  /** Stores the plan that a run has handed in, and asks for a yes to it. Null when the run said nothing. */
  askForPlan(input: { taskId: string; step: number }): Promise<PlanAsked | null>;
  /** opens the question about all hosts that the task waits for; `decided` when nothing is to be asked any more */
  askForHosts(input: { taskId: string; questionId: string }): Promise<{ outboxId: string; decided?: Decision }>;
  remindForTask(questionId: string): Promise<string | null>;
  expireForTask(questionId: string): Promise<boolean>;
  /** tells the person that the host of a task does not answer; returns the outbox id, one for each task and reason */
  tellTask(input: { taskId: string; key: string; text: string }): Promise<string>;
  /** The task now waits for a limit. `tell`: returns the outbox id of the message that says so. */
  limitTask(input: { taskId: string; key: string; limit: ModelLimit; tell: boolean }): Promise<string | null>;
  /**
   * another live host that has the workspace, when the task's own host has been away for long; the task then belongs to
   * that host
   */
  moveTask(input: { taskId: string; from: string }): Promise<string | null>;
}

export interface TaskView {
  state: TaskState;
  doing: string;
  waitingFor: string | null;
  step: number;
}
