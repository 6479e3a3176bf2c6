import { setTimeout as pause } from 'node:timers/promises';
import { breachFigures, type TaskBudget, type TaskUsed, taskBreach } from '../../../../domain/model/budgets.ts';
import type { ModelUsage } from '../../../../store/kennel/usage.ts';
import type { Refusal } from './errors.ts';

export interface LedgerStore {
  usage(): Promise<TaskUsed>;
  add(increments: readonly ModelUsage[]): Promise<void>;
}

/** Usage of one task: what is counted but not stored yet, and whether the budget allows another call. */
export interface Ledger {
  /** Null when a call is allowed. Waits a while for a store that does not answer, then refuses. */
  check(signal: AbortSignal): Promise<Refusal | null>;
  /** Counts a call. It is stored at once, and again until the store accepts it. */
  add(usage: ModelUsage): void;
  setBudget(budget: TaskBudget): void;
  /** True when everything counted is stored; false when that did not succeed in time. Nothing may be added afterwards. */
  settle(ms: number): Promise<boolean>;
}

/** Milliseconds between two attempts on a store that does not answer. */
const RETRY_MS = 250;

export function createLedger(store: LedgerStore, initial: TaskBudget, storeWaitMs: number): Ledger {
  let budget = initial;
  let pending = new Map<string, ModelUsage>();
  let storing: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;

  // one statement at a time, and none is given up, because nobody could know whether it counted
  const flush = (): Promise<void> => {
    if (storing) return storing.then(flush);
    if (!pending.size) return Promise.resolve();
    const taken = pending;
    pending = new Map();
    storing = store
      .add([...taken.values()])
      .catch((error) => {
        for (const usage of taken.values()) merge(pending, usage);
        clearTimeout(retry);
        retry = setTimeout(() => void flush().catch(() => {}), RETRY_MS * 4).unref();
        throw error;
      })
      .finally(() => {
        storing = null;
      });
    return storing;
  };

  return {
    async check(signal) {
      const deadline = Date.now() + storeWaitMs;
      for (;;) {
        const left = deadline - Date.now();
        const used = await within(
          flush().then(() => store.usage()),
          Math.max(1, left),
        );
        signal.throwIfAborted();
        if (used) return refusal(budget, used);
        if (Date.now() + RETRY_MS > deadline) {
          return { status: 503, message: 'The budget of this task cannot be checked now, because the database does not answer. Try again in a minute.' };
        }
        await pause(RETRY_MS, undefined, { signal });
      }
    },
    add(usage) {
      merge(pending, usage);
      void flush().catch(() => {});
    },
    setBudget(next) {
      budget = next;
    },
    async settle(ms) {
      const deadline = Date.now() + ms;
      for (;;) {
        const stored = await within(
          flush().then(() => true),
          Math.max(1, deadline - Date.now()),
        );
        if (stored) break;
        if (Date.now() + RETRY_MS > deadline) break;
        await pause(RETRY_MS);
      }
      clearTimeout(retry);
      return !pending.size && !storing;
    },
  };
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
  return { status: 402, message: `The budget for ${what} is used up: ${breachFigures(breach)} Stop here; what was done so far is kept. (${raise})` };
}
