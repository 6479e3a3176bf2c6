import { describe, expect, it } from 'vitest';
import { createRefusedHosts } from '../../../src/adapters/kennel/gate/egress/traffic.ts';
import { Ledger, type LedgerStore } from '../../../src/adapters/kennel/gate/model/ledger.ts';
import { createSlots } from '../../../src/adapters/kennel/gate/slots.ts';
import type { Refused } from '../../../src/store/kennel/egress.ts';
import type { ModelUsage } from '../../../src/store/kennel/tasks/usage.ts';

const signal = new AbortController().signal;
const DAY = { dayTokens: 10_000, dayMicroUsd: 5_000 };
const used = (tokens: number, microUsd = 0): ModelUsage => ({
  model: 'm',
  calls: 1,
  inputTokens: tokens,
  outputTokens: 0,
  microUsd,
});

/** A store in memory that can be down, or not answer at all. */
function memory() {
  const state = { rows: [] as ModelUsage[], today: { tokens: 0, microUsd: 0 }, down: false, hangs: false };
  const reach = async (): Promise<void> => {
    if (state.hangs) await new Promise(() => {});
    if (state.down) throw new Error('connection refused');
  };
  const sum = (field: 'calls' | 'inputTokens' | 'outputTokens' | 'microUsd') =>
    state.rows.reduce((total, row) => total + row[field], 0);
  const store: LedgerStore = {
    async usage() {
      await reach();
      return { tokens: sum('inputTokens'), microUsd: sum('microUsd'), today: state.today };
    },
    async add(rows) {
      await reach();
      state.rows.push(...rows);
    },
  };
  return { state, store };
}

describe('the ledger of a task', () => {
  it('allows calls until the tokens or the money are used up, and says which', async () => {
    const { store } = memory();
    const ledger = new Ledger(store, { ...DAY, tokens: 100, microUsd: 50 }, 1000);
    expect(await ledger.check(signal)).toBeNull();
    ledger.add(used(99));
    expect(await ledger.check(signal)).toBeNull();
    ledger.add(used(1));
    expect(await ledger.check(signal)).toMatchObject({
      status: 402,
      message: expect.stringContaining('FETCH_TASK_MAX_TOKENS'),
    });
    ledger.setBudget({ ...DAY, tokens: 1000, microUsd: 50 });
    expect(await ledger.check(signal)).toBeNull();
    ledger.add(used(1, 50));
    expect(await ledger.check(signal)).toMatchObject({
      status: 402,
      message: expect.stringContaining('FETCH_TASK_MAX_USD'),
    });
  });

  it('allows none when the tasks of the chat have used up their day, and says which budget that is', async () => {
    const { state, store } = memory();
    const ledger = new Ledger(store, { ...DAY, tokens: 100, microUsd: 50 }, 1000);
    state.today = { tokens: 10_000, microUsd: 0 };
    expect(await ledger.check(signal)).toMatchObject({
      status: 402,
      message: expect.stringContaining('FETCH_TASK_MAX_DAY_TOKENS'),
    });
    state.today = { tokens: 0, microUsd: 5_000 };
    expect(await ledger.check(signal)).toMatchObject({
      status: 402,
      message: expect.stringContaining('FETCH_TASK_MAX_DAY_USD'),
    });
  });

  it.each(['down', 'hangs'] as const)('refuses a call when the store is unreachable (%s) for too long', async (how) => {
    const { state, store } = memory();
    state[how] = true;
    expect(await new Ledger(store, { ...DAY, tokens: 100, microUsd: 50 }, 300).check(signal)).toMatchObject({
      status: 503,
    });
  });

  it('loses and doubles nothing that it counted while the store was down', async () => {
    const { state, store } = memory();
    state.down = true;
    const ledger = new Ledger(store, { ...DAY, tokens: 100, microUsd: 50 }, 5000);
    ledger.add(used(60));
    ledger.add(used(40));
    const waiting = ledger.check(signal);
    state.down = false;
    expect(await waiting).toMatchObject({ status: 402 });
    expect(state.rows).toEqual([{ model: 'm', calls: 2, inputTokens: 100, outputTokens: 0, microUsd: 0 }]);
    expect(await ledger.settle(1000)).toBe(true);
    expect(state.rows).toHaveLength(1);
  });

  it('says when the last figures could not be stored', async () => {
    const { state, store } = memory();
    state.down = true;
    const ledger = new Ledger(store, { ...DAY, tokens: 100, microUsd: 50 }, 300);
    ledger.add(used(60));
    expect(await ledger.settle(300)).toBe(false);
  });
});

describe('hosts that were asked for in vain', () => {
  it('are stored now and then, at most a hundred of them, with the right sums', async () => {
    const stored: Refused[] = [];
    let writes = 0;
    const refused = createRefusedHosts(async (rows) => {
      writes += 1;
      stored.push(...rows);
    });
    for (let at = 0; at < 5000; at += 1) refused.count({ host: `h${at % 150}.example`, port: 443 });
    await refused.settle();
    expect(writes).toBe(1);
    expect(stored).toHaveLength(101);
    expect(stored.reduce((sum, row) => sum + row.refused, 0)).toBe(5000);
    expect(refused.tooMany()).toBe(true);
  });
});

describe('places', () => {
  it('are handed on in the order of the line, and not to those who left it', async () => {
    const slots = createSlots(1);
    const first = await slots.take();
    const leaving = new AbortController();
    const left = slots.take(leaving.signal);
    const order: string[] = [];
    const second = slots.take().then((release) => {
      order.push('second');
      release();
      release();
    });
    const third = slots.take().then((release) => {
      order.push('third');
      return release;
    });
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    first();
    await second;
    const release = await third;
    let fourth = false;
    const waiting = slots.take().then(() => {
      fourth = true;
    });
    await Promise.resolve();
    expect([order, fourth]).toEqual([['second', 'third'], false]);
    release();
    await waiting;
  });
});
