import {
  allHandlersFinished,
  type CancellationScope,
  patched,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { AgentName } from '../../contracts/kennel.ts';
import type {
  CarriedTask,
  CarriedWork,
  Concluded,
  TaskActivities,
  TaskInput,
  TaskSpending,
  TaskState,
  TaskView,
} from '../../contracts/task.ts';
import type { Decisions } from '../shared/await-answer.ts';
import { canBeFailed, type Listed, list } from '../shared/search-attributes.ts';
import { onHost } from './policies.ts';

/** Runs from before this change look for their workspace every twenty seconds, and never continue as new. */
export const TAKES_WEEKS = '2026-11-task-takes-weeks';
/** The limit for runs of an earlier release, which have none in their input. */
const MAX_EVENTS = 4_000;
/** Above this a task continues as new even while messages wait for their channel. */
const FAR_TOO_MANY_EVENTS = 20_000;

/** How a task ends. `gone`: the agent ended by itself, so its container needs no graceful end. */
export type End = { state: Concluded['state']; reason: string; gone?: true };
/** Not the end: the history is full, and the task continues as new from here. */
export type Renewal = { renew: CarriedWork | null };

export const CANCELLED: End = { state: 'cancelled', reason: 'It was cancelled.' };

/** The state of a coding task. Handlers record in it; the main function and its parts read it. */
export interface TaskRun {
  readonly input: TaskInput;
  /** the host where it works now, and the activities there */
  host: { name: string; activities: TaskActivities };
  view: TaskView;
  /** a person may choose another one while the first waits for its model */
  harness: AgentName;
  /** what the agent was doing when last seen */
  doing: string;
  decisions: Decisions;
  orders: Orders;
  /** the workspace that it waits for may be free */
  mayBeFree: boolean;
  over: boolean;
  workedMs: number;
  /** work since it last waited for a limit */
  workedSinceLimitMs: number;
  spent: TaskSpending;
  outgoing: Outgoing;
}

interface Orders {
  order: 'none' | 'cancel' | 'pause';
  /** the order came from a word in the chat, which needs a reply; a tool replies by itself */
  spoken: boolean;
  /** it is paused and nothing runs */
  held: boolean;
  /** a person said to go on: a limit is waited for no longer */
  goOn: boolean;
  pauses: number;
  /** what an order may interrupt */
  interruptible: CancellationScope | null;
}

interface Outgoing {
  unsent: Map<string, { summary: string; outboxId: string }>;
  /** resolves when every message so far is sent */
  sending: Promise<void>;
}

export function beginRun(input: TaskInput): TaskRun {
  const { carried, limits } = input;
  const name = carried?.host ?? input.host;
  return {
    input,
    host: { name, activities: onHost(name, limits.awayMs) },
    harness: carried?.harness ?? input.harness,
    view: { state: 'queued', doing: 'waits for its workspace', waitingFor: null, step: 0 },
    doing: 'works',
    decisions: { ...carried?.decisions },
    orders: {
      order: 'none',
      spoken: false,
      held: false,
      goOn: false,
      pauses: carried?.pauses ?? 0,
      interruptible: null,
    },
    mayBeFree: false,
    over: false,
    workedMs: carried?.workedMs ?? 0,
    workedSinceLimitMs: 0,
    spent: carried?.spent ?? { tokens: 0, microUsd: 0 },
    outgoing: { unsent: new Map(), sending: Promise.resolve() },
  };
}

export const isCancelled = ({ orders }: TaskRun): boolean => orders.order === 'cancel';
export const isPaused = ({ orders }: TaskRun): boolean => orders.order === 'pause';

/** State that the task carries over continue-as-new. */
export const carriedBy = (
  { host, harness, decisions, workedMs, spent, orders, outgoing }: TaskRun,
  work: CarriedWork | null,
): CarriedTask => ({
  host: host.name,
  harness,
  decisions,
  workedMs,
  spent,
  pauses: orders.pauses,
  unsent: [...outgoing.unsent.values()],
  work,
});

/** The history is full, and continuing as new would lose nothing. */
export function isRenewable({ input, orders, outgoing }: TaskRun): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (!continueAsNewSuggested && historyLength <= (input.limits.maxHistoryEvents ?? MAX_EVENTS)) return false;
  if (
    orders.order !== 'none' ||
    !allHandlersFinished() ||
    (outgoing.unsent.size > 0 && historyLength < FAR_TOO_MANY_EVENTS)
  )
    return false;
  return patched(TAKES_WEEKS);
}

/** The view for operators. */
export function show(
  run: TaskRun,
  state: TaskState,
  doing: string,
  waitingFor: string | null = null,
  waitsFor = WAITS_FOR[state] ?? null,
): void {
  const { input, harness, host, view, spent, workedMs } = run;
  if (state !== view.state)
    list(phaseOf(state), { channel: input.channel, thread: null, waitsFor, spentMicroUsd: spent.microUsd });
  Object.assign(view, { state, doing, waitingFor });
  setCurrentDetails(
    [
      `**${state}**: ${doing}`,
      '',
      `- ${harness} in workspace \`${input.workspace}\` on host \`${host.name}\`, step ${view.step}`,
      `- spent $${(spent.microUsd / 1_000_000).toFixed(4)}, ${spent.tokens} tokens, as the gate counted`,
      `- worked ${Math.round(workedMs / 1000)} s of ${Math.round(input.limits.workMs / 1000)} s`,
    ].join('\n'),
  );
}

const WAITS_FOR: Partial<Record<TaskState, Listed['waitsFor']>> = {
  queued: 'workspace',
  waiting: 'question',
  paused: 'resume',
};

function phaseOf(state: TaskState): Parameters<typeof list>[0] {
  if (state === 'waiting') return 'waiting';
  if (state === 'running') return 'working';
  return state === 'failed' && canBeFailed() ? 'failed' : 'idle';
}
