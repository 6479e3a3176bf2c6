import { setTimeout as pause } from 'node:timers/promises';
import { breachFigures, type TaskBudget, type TaskUsed, taskBreach } from '../../../../domain/model/budgets.ts';
import type { ModelUsage } from '../../../../store/kennel/tasks/usage.ts';
import type { Refusal } from './errors.ts';

export interface LedgerStore {
  usage(): Promise<TaskUsed>;
  add(increments: readonly ModelUsage[]): Promise<void>;
}

/** Milliseconds between two attempts on a store that does not answer. */
const RETRY_MS = 250;

/** Usage of one task: what is counted but not stored yet, and whether the budget allows another call. */
export class Ledger {
  private readonly store: LedgerStore;
  private readonly storeWaitMs: number;
  private budget: TaskBudget;
  private pending = new Map<string, ModelUsage>();
  private storing: Promise<void> | null = null;
  private retry: NodeJS.Timeout | undefined;

  constructor(store: LedgerStore, budget: TaskBudget, storeWaitMs: number) {
    this.store = store;
    this.budget = budget;
    this.storeWaitMs = storeWaitMs;
  }

  /** Null when a call is allowed. Waits a while for a store that does not answer, then refuses. */
  async check(signal: AbortSignal): Promise<Refusal | null> {
    const deadline = Date.now() + this.storeWaitMs;
    for (;;) {
      const used = await within(
        this.flush().then(() => this.store.usage()),
        Math.max(1, deadline - Date.now()),
      );
      signal.throwIfAborted();
      if (used) return refusal(this.budget, used);
      if (Date.now() + RETRY_MS > deadline) {
        return {
          status: 503,
          message:
            'The budget of this task cannot be checked now, because the database does not answer. Try again in a minute.',
        };
      }
      await pause(RETRY_MS, undefined, { signal });
    }
  }

  /** Counts a call. It is stored at once, and again until the store accepts it. */
  add(usage: ModelUsage): void {
    merge(this.pending, usage);
    void this.flush().catch(() => {});
  }

  setBudget(budget: TaskBudget): void {
    this.budget = budget;
  }

  /**
   * True when everything counted is stored; false when that did not succeed in time. Nothing may be added afterwards.
   */
  async settle(ms: number): Promise<boolean> {
    const deadline = Date.now() + ms;
    for (;;) {
      const stored = await within(
        this.flush().then(() => true),
        Math.max(1, deadline - Date.now()),
      );
      if (stored || Date.now() + RETRY_MS > deadline) break;
      await pause(RETRY_MS);
    }
    clearTimeout(this.retry);
    return !this.pending.size && !this.storing;
  }

  /** One statement at a time, and none is given up, because nobody could know whether it counted. */
  private flush(): Promise<void> {
    if (this.storing) return this.storing.then(() => this.flush());
    if (!this.pending.size) return Promise.resolve();
    const taken = this.pending;
    this.pending = new Map();
    this.storing = this.store
      .add([...taken.values()])
      .catch((error) => {
        for (const usage of taken.values()) merge(this.pending, usage);
        clearTimeout(this.retry);
        this.retry = setTimeout(() => void this.flush().catch(() => {}), RETRY_MS * 4).unref();
        throw error;
      })
      .finally(() => {
        this.storing = null;
      });
    return this.storing;
  }
}

function merge(into: Map<string, ModelUsage>, usage: ModelUsage): void {
  const sum = into.get(usage.model) ?? { model: usage.model, calls: 0, inputTokens: 0, outputTokens: 0, microUsd: 0 };
  const unpriced = (sum.unpriced ?? 0) + (usage.unpriced ?? 0);
  into.set(usage.model, {
    model: usage.model,
    calls: sum.calls + usage.calls,
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    microUsd: sum.microUsd + usage.microUsd,
    ...(unpriced > 0 && { unpriced }),
  });
}

/** The result of a promise, or null when it fails or takes longer. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  const timer = new AbortController();
  try {
    return await Promise.race([promise.catch(() => null), pause(ms, null, { signal: timer.signal }).catch(() => null)]);
  } finally {
    timer.abort();
  }
}

function refusal(budget: TaskBudget, used: TaskUsed): Refusal | null {
  const breach = taskBreach(budget, used);
  if (!breach) return null;
  const { budget: what, raise } = breach;
  return {
    status: 402,
    message: `The budget for ${what} is used up: ${breachFigures(breach)} Stop here; what was done so far is kept. (${raise})`,
  };
}
