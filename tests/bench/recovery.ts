import { until } from '../support/until.ts';
import { type Bench, type Part, warmUp } from './bench.ts';
import { figures, median, type Row } from './figures.ts';

/** The worker dies in the middle of model steps: how long until the next attempt of each reaches the model. */
export const recovery: Part = {
  name: 'recovery',
  title: 'SIGKILL of the worker to the next step',
  async run(bench) {
    const rows: Row[] = [];
    for (const turns of bench.pick([1], [1, 20], [1, 20])) {
      const rounds = turns === 1 ? bench.pick(1, 3, 10) : bench.pick(1, 2, 5);
      const delays: number[][] = [];
      for (let at = 0; at < rounds; at++) {
        delays.push(await killInFlight(bench, turns));
        await bench.app.whenReady();
        await warmUp(bench, 2);
      }
      const slowest = delays.map((each) => Math.max(...each));
      rows.push({
        'turns in flight': turns,
        kills: rounds,
        'median ms': median(delays.flat()),
        'slowest turn ms': figures(slowest).median,
        'worst ms': Math.max(...slowest),
      });
    }
    return rows;
  },
};

async function killInFlight({ app }: Bench, turns: number): Promise<number[]> {
  const requestsOf = (turnId: string) => app.model.requests().filter((request) => request.requestId.startsWith(turnId));
  const ids = await Promise.all(
    Array.from({ length: turns }, async (_, at) => {
      const thread = await app.thread();
      // never answered the first time; the name makes the script one of its own
      return app.turn(thread, [{ hang: true, times: 1, say: `back ${thread} ${at}` }]);
    }),
  );
  await until('every turn waits for its model', () => ids.every((id) => requestsOf(id).length === 1));
  app.kill('worker');
  const killed = Date.now();
  await until('every turn has asked its model again', () => ids.every((id) => requestsOf(id).length >= 2), 120_000);
  return ids.map((id) => requestsOf(id)[1]!.at - killed);
}
