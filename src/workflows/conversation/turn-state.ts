import type { TurnLimits, Waits } from '../../contracts/conversation.ts';
import type { Decisions } from '../shared/await-answer.ts';
import type { Board } from './board.ts';

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
