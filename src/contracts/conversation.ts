import type { Decision } from './decision.ts';
import type { Channel } from './ids.ts';
import type { TaskInput } from './task.ts';

/** What crosses the boundary between the world and the `conversation` workflow. JSON only; fields only grow. */

/** A stored inbox row that concerns this chat. The workflow gets ids, never text. */
export type Arrival =
  /** a new turn was opened in the store and is to be run */
  | { kind: 'turn'; inboxId: string; turnId: string; threadId: string }
  /** more text for the running turn: the next model step reads it from the store */
  | { kind: 'steer'; inboxId: string; turnId: string /** what the person is told about it */; outboxId?: string }
  /** an open question or approval was decided in the store */
  | {
      kind: 'answer';
      inboxId: string;
      questionId: string;
      decision: Decision /** the coding task that asked; it is signalled in place of the conversation */;
      taskId?: string;
    }
  /** work on this turn is to stop; what was done is kept */
  | { kind: 'stop'; inboxId: string; turnId: string }
  /** a coding task is to be ended, held or taken up again; it is signalled in place of the conversation */
  | { kind: 'task'; inboxId: string; taskId: string; order: 'cancel' | 'pause' | 'resume' }
  /** a reply that needs no model is ready in the outbox */
  | { kind: 'reply'; inboxId: string; outboxId: string };

export interface ConversationInput {
  chatId: string;
  channel: Channel;
  limits: TurnLimits;
  /** durations in ms, inputs so that tests can shorten them without patching code */
  waits: Waits;
  /** carried over continue-as-new */
  carried?: Carried;
}

export interface Waits {
  /** remind once about an open question after this long */
  remindAfterMs: number;
  /** an unanswered question expires after this long */
  expireAfterMs: number;
}

/** Budgets of one turn that the workflow itself can check. Money and tokens come back from `think`. */
export interface TurnLimits {
  maxSteps: number;
  maxToolCalls: number;
  maxTokens: number;
  maxMicroUsd: number;
  maxWallMs: number;
  parallelTools: number;
  /** continue-as-new between turns above this many history events */
  maxHistoryEvents: number;
}

export interface Carried {
  turns: Array<{ turnId: string; threadId: string }>;
  replies: string[];
  /** the last inbox ids seen, newest last, at most 500 */
  seen: string[];
  /** turns that are to be stopped when they come up */
  stops?: string[];
  turnsDone: number;
  spentMicroUsd: number;
}

/** One tool call of a model step, as `think` found it: danger and effect are those of that moment. */
export interface CallVerdict {
  callId: string;
  name: string;
  danger: Danger;
  effect: Effect;
  /** a few words for the Web UI; never an argument that could be private */
  summary: string;
  /** set when the arguments failed the schema: the error is already the call's result */
  refused?: boolean;
  timeoutMs: number;
  /** where it runs when not on the worker's own queue: the kennel of the workspace's host */
  queue?: string;
  /** what policy said of it when the model made it; the store has it too */
  policy?: 'run' | 'ask' | 'refuse';
  /** an approval of it shows more than its arguments */
  preview?: boolean;
}

export type Danger = 'SAFE' | 'MODERATE' | 'DANGEROUS';
export type Effect = 'idempotent' | 'reattachable' | 'once';
export type Autonomy = 'supervised' | 'cautious' | 'autonomous';

export interface ThinkInput {
  turnId: string;
  threadId: string;
  step: number;
}

export interface StepUsage {
  inputTokens: number;
  outputTokens: number;
  microUsd: number;
  /** the part of `microUsd` that counts at the dearest known price, because the right one is not known */
  unpriced?: number;
}

export interface ThinkResult {
  /** `closed`: the answer is stored, the turn is over. `continue`: a message arrived meanwhile, think again. */
  next: 'tools' | 'closed' | 'continue';
  calls: CallVerdict[];
  /** outbox row that holds what the person is to be told: the answer, or what was said before a question or a message that came meanwhile */
  outboxId?: string;
  autonomy: Autonomy;
  autoApprove: boolean;
  usage: StepUsage;
  /** ms that were spent waiting for a limit of the model to open */
  waitedMs?: number;
}

export interface ActInput {
  callId: string;
  turnId: string;
  threadId: string;
}
export interface ActResult {
  ok: boolean;
  /** size of the stored output in characters */
  size: number;
  /** a coding task that this call made, to be started as a child */
  task?: TaskInput;
}

export interface AskInput {
  callId: string;
  turnId: string;
  threadId: string;
  kind: 'question' | 'approval';
}
export interface AskResult {
  questionId: string;
  outboxId: string;
  /** the beginning of the question, for the timer's summary */
  title?: string;
  /** the question was decided before we asked (a retried step) */
  decided?: Decision;
}

export interface FinishInput {
  turnId: string;
  threadId: string;
  status: 'interrupted' | 'failed';
  /** from the closed vocabulary in domain/failures */
  failure?: { type: string; message: string };
}

export interface DeliverInput {
  outboxId: string;
}

/** What an operator's query sees. */
export interface ConversationView {
  phase: Phase;
  turnId: string | null;
  waitingFor: string | null;
  queuedTurns: string[];
  turnsDone: number;
  spentMicroUsd: number;
}
/** `failed`: nothing to do, and the last turn failed. */
export type Phase = 'idle' | 'working' | 'waiting' | 'failed';
