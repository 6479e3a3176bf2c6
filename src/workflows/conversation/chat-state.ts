import { type CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { Carried, ConversationInput, TurnLimits, Waits } from '../../contracts/conversation.ts';
import type { Decisions } from '../shared/await-answer.ts';
import { Board } from './board.ts';

export interface PendingTurn {
  turnId: string;
  threadId: string;
}

/** The state of a conversation. Handlers add to it; the turn loop and the sender take from it. */
export interface Chat {
  readonly input: ConversationInput;
  readonly board: Board;
  turns: PendingTurn[];
  /** outbox rows to send, in order; a row stays until it is sent */
  outgoing: string[];
  sending: boolean;
  /** inbox ids of signals that were already handled */
  seen: string[];
  /** turns that must stop as soon as they come up */
  stops: string[];
  decisions: Decisions;
  running: { turnId: string; scope: CancellationScope } | null;
}

/**
 * An operator may pin a run to another build. Below this length such a run does not continue as new, or it would do so
 * for ever.
 */
const OUTDATED_EVENTS = 10;

export function beginChat(input: ConversationInput): Chat {
  const carried: Carried = input.carried ?? { turns: [], replies: [], seen: [], turnsDone: 0, spentMicroUsd: 0 };
  return {
    input,
    board: new Board(
      input.channel,
      { turnsDone: carried.turnsDone, spentMicroUsd: carried.spentMicroUsd },
      workflowInfo().startTime.toISOString(),
    ),
    turns: [...carried.turns],
    outgoing: [...carried.replies],
    sending: false,
    seen: [...carried.seen],
    stops: [...(carried.stops ?? [])],
    decisions: {},
    running: null,
  };
}

/** State that a chat carries over continue-as-new. Decisions are not carried: no question is open between turns. */
export function carriedBy({ turns, outgoing, seen, stops, board }: Chat): Carried {
  const { turnsDone, spentMicroUsd } = board.view;
  return { turns, replies: outgoing, seen, stops, turnsDone, spentMicroUsd };
}

/** The history is full or another build is current, and continuing as new would lose nothing. */
export function isRenewable({ input, outgoing, sending }: Chat): boolean {
  const { continueAsNewSuggested, historyLength, targetWorkerDeploymentVersionChanged } = workflowInfo();
  const outdated = targetWorkerDeploymentVersionChanged && historyLength > OUTDATED_EVENTS;
  return (
    (continueAsNewSuggested || outdated || historyLength > input.limits.maxHistoryEvents) &&
    outgoing.length === 0 &&
    !sending
  );
}

export function showQueue({ board, turns }: Chat): void {
  board.view.queuedTurns = turns.map((turn) => turn.turnId);
}

/** One turn, and what it needs of its chat. */
export interface Turn {
  turnId: string;
  threadId: string;
  limits: TurnLimits;
  waits: Waits;
  board: Board;
  decisions: Decisions;
  clock: WorkClock;
  /** queues an outbox row for sending */
  send(outboxId: string): void;
}

/** Working time of a turn. Waiting for a person, or for a limit of the model to open, does not count. */
export class WorkClock {
  #begun = Date.now();
  #waited = 0;
  elapsed(): number {
    return Date.now() - this.#begun - this.#waited;
  }
  skip(ms: number): void {
    this.#waited += ms;
  }
  async pause<T>(wait: Promise<T>): Promise<T> {
    const from = Date.now();
    try {
      return await wait;
    } finally {
      this.#waited += Date.now() - from;
    }
  }
}
