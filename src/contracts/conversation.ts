import type { Decision } from './decision.ts';
import type { Channel } from './ids.ts';
import type { TaskInput } from './task.ts';

/** What crosses the boundary between the world and the `conversation` workflow. JSON only; fields only grow. */

/** A stored inbox row that concerns this chat. The workflow gets ids, never text. */
export type Arrival =
  /** a new turn is open in the store and must be run */
  | { kind: 'turn'; inboxId: string; turnId: string; threadId: string }
  /** more text for the running turn; the next model step reads it from the store */
  | { kind: 'steer'; inboxId: string; turnId: string /** what the person is told about it */; outboxId?: string }
  /** an open question or approval was decided in the store */
  | {
      kind: 'answer';
      inboxId: string;
      questionId: string;
      decision: Decision /** the coding task that asked; it is signalled in place of the conversation */;
      taskId?: string;
      /** the workflow that waits, where it is another one than the conversation of the chat that was asked */
      workflowId?: string;
    }
  /** the turn must stop; what was done is kept */
  | { kind: 'stop'; inboxId: string; turnId: string }
  /** an order to cancel, pause or resume a coding task; the task is signalled, not the conversation */
  | { kind: 'task'; inboxId: string; taskId: string; order: 'cancel' | 'pause' | 'resume' }
  /** a reply that needs no model is ready in the outbox */
  | { kind: 'reply'; inboxId: string; outboxId: string };

export interface ConversationInput {
  chatId: string;
  channel: Channel;
  limits: TurnLimits;
  /** durations in ms; they are inputs, so that tests can shorten them */
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
  /** the latest inbox ids, newest last, at most 500 */
  seen: string[];
  /** turns that must stop as soon as they come up */
  stops?: string[];
  turnsDone: number;
  spentMicroUsd: number;
}

/** The tool that asks the person. Its calls are asked by the workflow, and their results are the person's words. */
export const ASK_USER = 'ask_user';

/** One tool call of a model step. Danger and effect are as `think` found them at that moment. */
export interface CallVerdict {
  callId: string;
  name: string;
  danger: Danger;
  effect: Effect;
  /** a few words for the Web UI; never an argument, which may be private */
  summary: string;
  /** the arguments failed the schema, and the error is already stored as the result of the call */
  refused?: boolean;
  timeoutMs: number;
  /** task queue of the host that has the workspace; unset for the worker's own queue */
  queue?: string;
  /** what policy decided when the model made the call; the store has it too */
  policy?: 'run' | 'ask' | 'refuse';
  /** an approval of the call shows more than its arguments */
  preview?: boolean;
  /** touches only our own store, within well under a second */
  onStore?: boolean;
}

export type Danger = 'SAFE' | 'MODERATE' | 'DANGEROUS';
export type Effect = 'idempotent' | 'reattachable' | 'once';
export type Autonomy = 'supervised' | 'cautious' | 'autonomous';
/**
 * What a person sets. `judged` is stored as `cautious` with a flag beside it, so that a release which does not know it
 * is cautious.
 */
export type TrustLevel = Autonomy | 'judged';

export interface ThinkInput {
  turnId: string;
  threadId: string;
  step: number;
  /** the workflow asks at a budget; one of an earlier release waits for the next day */
  asksAtBudget?: true;
}

export interface StepUsage {
  inputTokens: number;
  outputTokens: number;
  microUsd: number;
  /** the part of `microUsd` that counts at the highest known price, because the right price is unknown */
  unpriced?: number;
}

export interface ThinkResult {
  /**
   * `closed`: the answer is stored and the turn is over. `continue`: a message arrived meanwhile, so think again.
   * `asks`: a budget is used up, and the step begins again after the answer.
   */
  next: 'tools' | 'closed' | 'continue' | 'asks';
  /** the question at a budget; `opensAt`: when the budget begins again, in ms since the epoch */
  asks?: { questionId: string; opensAt: number | null };
  calls: CallVerdict[];
  /**
   * outbox row for the person: the answer, or what the model said before a question or before a message that came
   * meanwhile
   */
  outboxId?: string;
  autonomy: Autonomy;
  autoApprove: boolean;
  usage: StepUsage;
  /** total spend of the chat including this step; for operators, after a run whose count was lost */
  chatMicroUsd?: number;
  /** ms spent waiting for a limit of the model to open */
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
  /** a coding task that this call created; the conversation starts it as a child */
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
  /** beginning of the question, for the summary of the timer */
  title?: string;
  /** the question was decided before it was asked (in a retried step) */
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

/** A tool call that a program names itself, so that no model is asked. */
export interface NamedCall {
  name: string;
  args: Record<string, unknown>;
  /** the name by which the program called it, when that is no name of ours */
  as?: string;
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
