import { setTimeout as pause } from 'node:timers/promises';
import { isServerAway } from '../signal.ts';

/** Rows that are compared in parallel. */
const PARALLEL = 8;
const PAGE = 200;
/**
 * After this many rows that could not be compared, the round ends and the next one continues behind them: each may have
 * cost a time-out.
 */
const MOST_FAILURES = 25;

export interface Walked {
  /** rows that were restored */
  found: number;
  failed: number;
  failure?: Error;
}

/** One of the compared tables: where its round stopped, and how it is read. */
export class Walk<R> {
  #after = '';
  readonly #page: (after: string, limit: number) => Promise<R[]>;
  readonly #key: (row: R) => string;
  readonly #rests: number;

  /**
   * `rests`: the times its own length that each batch is followed by a rest, unless it restored something: then there
   * is more to restore.
   */
  constructor(page: (after: string, limit: number) => Promise<R[]>, key: (row: R) => string, rests = 0) {
    this.#key = key;
    this.#page = page;
    this.#rests = rests;
  }

  /**
   * Compares every row; `compare` returns whether it restored one. A failing row is counted and does not stop the
   * others. Only an unreachable server and `stop` end the round.
   */
  async round(compare: (row: R) => Promise<boolean>, stop?: AbortSignal): Promise<Walked> {
    const walked: Walked = { found: 0, failed: 0 };
    for (;;) {
      const rows = await this.#page(this.#after, PAGE);
      for (let at = 0; at < rows.length; at += PARALLEL) {
        if (stop?.aborted) return walked;
        const batch = rows.slice(at, at + PARALLEL);
        const from = Date.now();
        const foundBefore = walked.found;
        const outcomes = await Promise.allSettled(batch.map(compare));
        for (const outcome of outcomes) {
          if (outcome.status === 'fulfilled') walked.found += outcome.value ? 1 : 0;
          else if (isServerAway(outcome.reason)) throw outcome.reason;
          else {
            walked.failed += 1;
            walked.failure = outcome.reason as Error;
          }
        }
        this.#after = this.#key(batch.at(-1)!);
        if (walked.failed >= MOST_FAILURES) return walked;
        if (this.#rests > 0 && walked.found === foundBefore)
          await pause((Date.now() - from) * this.#rests, undefined, {
            ref: false,
            ...(stop && { signal: stop }),
          }).catch(() => undefined);
      }
      if (rows.length < PAGE) {
        this.#after = '';
        return walked;
      }
    }
  }
}
