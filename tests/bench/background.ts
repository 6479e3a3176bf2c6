import { setTimeout as pause } from 'node:timers/promises';
import { endedRuns, startRuns } from '../support/background-runs.ts';
import { clientOf } from '../support/temporal-client.ts';
import type { Bench, Part } from './bench.ts';
import { figures, type Row, round } from './figures.ts';
import { steps } from './turns.ts';

const PAUSE_MS = 50;

/** Turns of a person on a quiet instance, and while routine runs wait in the queue. */
export const background: Part = {
  name: 'background',
  title: 'A turn with one tool call while routine runs wait',
  async run(bench) {
    const count = bench.pick(50, 500, 500);
    const thread = await bench.app.thread();
    const quiet: number[] = [];
    for (let at = 0; at < bench.pick(10, 30, 60); at++) quiet.push(await turn(bench, thread));
    return [row('quiet', quiet), await beside(bench, thread, count)];
  },
};

async function turn({ taker }: Bench, thread: string): Promise<number> {
  await pause(PAUSE_MS);
  return (await taker.take(thread, steps(1))).seen;
}

const row = (state: string, times: readonly number[], more: Row = {}): Row => {
  const { n, median, p95 } = figures(times);
  return { state, turns: n, 'median ms': median, 'p95 ms': p95, ...more };
};

/** The worker stands still while the runs are queued, so that all of them wait when the first turn begins. */
async function beside(bench: Bench, thread: string, count: number): Promise<Row> {
  const { app, temporal } = bench;
  const { db } = app.store;
  const { chat_id } = await db
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', await app.thread())
    .executeTakeFirstOrThrow();
  const worker = app.state().roles.find((role) => role.name === 'worker')!.pid!;
  process.kill(worker, 'SIGSTOP');
  try {
    await startRuns({ db, temporal: clientOf(app, temporal.connection as never) }, chat_id, count);
  } finally {
    process.kill(worker, 'SIGCONT');
  }
  const begun = Date.now();
  const times: number[] = [];
  while ((await endedRuns(db, chat_id)) < count) times.push(await turn(bench, thread));
  return row(`${count} routine runs`, times, { 'runs took s': round((Date.now() - begun) / 1000, 1) });
}
