import { loadConfig } from '../../src/config.ts';
import { createReconcile } from '../../src/gateway/intake/reconcile/reconcile.ts';
import { fillTables } from '../support/many-rows.ts';
import type { Bench, Part } from './bench.ts';
import { median, type Row, round } from './figures.ts';
import { steps } from './turns.ts';

/** The same turn, words and looks on empty tables and on full ones. */
export const manyRows: Part = {
  name: 'rows',
  title: 'Tables of many rows',
  async run(bench) {
    const rows = bench.pick(20_000, 100_000, 1_000_000);
    const empty = await measure(bench, 0);
    await fillTables(bench.app.store.db, rows);
    return [empty, await measure(bench, rows)];
  },
};

async function measure({ app, taker, temporal, pick }: Bench, rows: number): Promise<Row> {
  const rounds = pick(5, 15, 30);
  const thread = await app.thread();
  const turns: number[] = [];
  for (let at = 0; at < rounds; at++) turns.push((await taker.take(thread, steps(1))).seen);
  const timed = async (run: () => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let at = 0; at < rounds; at++) {
      const from = performance.now();
      await run();
      times.push(performance.now() - from);
    }
    return round(median(times));
  };
  const reconcile = createReconcile({ db: app.store.db, temporal, config: loadConfig({ FETCH_HOME: app.home }, {}) });
  return {
    'rows in each table': rows,
    'turn with one tool seen ms': median(turns),
    '"status" ms': await timed(() => app.say(thread, 'status')),
    'GET thread ms': await timed(() => app.detail(thread)),
    'GET threads ms': await timed(() => app.request('GET', '/v1/threads?limit=50')),
    'comparison with the Temporal server ms': await timed(() => Promise.all([reconcile(0), reconcile.asleep()])),
  };
}
