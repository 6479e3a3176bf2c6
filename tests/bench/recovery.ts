import { until } from '../support/until.ts';
import { type Bench, type Part, replaceWorker, warmUp } from './bench.ts';
import { figures, median, type Row } from './figures.ts';

/** The worker dies in the middle of model steps: how long until the next attempt of each reaches the model. */
export const recovery: Part = {
  name: 'recovery',
  title: 'SIGKILL of the worker to the next step',
  async run(bench) {
    const rows: Row[] = [];
    for (const turns of [1, 20]) {
      const rounds = turns === 1 ? bench.pick(1, 3, 10) : bench.pick(1, 2, 5);
      const delays: number[][] = [];
      const restarts: number[] = [];
      for (let at = 0; at < rounds; at++) {
        const { asked, ready } = await killInFlight(bench, turns);
        delays.push(asked);
        restarts.push(ready);
        await warmUp(bench, 2);
      }
      const slowest = delays.map((each) => Math.max(...each));
      rows.push({
        'turns in flight': turns,
        kills: rounds,
        'worker ready ms': median(restarts),
        'median ms': median(delays.flat()),
        'slowest turn ms': figures(slowest).median,
        'worst ms': Math.max(...slowest),
      });
    }
    return rows;
  },
};

/** The supervisor's own: a role that lived this long is restarted at once. */
const STEADY_MS = 31_000;

/** Milliseconds from the kill to: each turn's next request to the model, the next worker being ready. */
async function killInFlight(bench: Bench, turns: number): Promise<{ asked: number[]; ready: number }> {
  const { app } = bench;
  // a role that dies again soon is restarted later and later: that is not what is measured
  const since = Date.parse(app.state().roles.find((role) => role.name === 'worker')!.since);
  await until(
    'the worker has lived long enough to be restarted at once',
    () => Date.now() - since > STEADY_MS,
    120_000,
  );
  const requestsOf = (turnId: string) => app.model.requests().filter((request) => request.requestId.startsWith(turnId));
  const ids = await Promise.all(
    Array.from({ length: turns }, async (_, at) => {
      const thread = await app.thread();
      // never answered the first time; the name makes the script one of its own
      return app.turn(thread, [{ hang: true, times: 1, say: `back ${thread} ${at}` }]);
    }),
  );
  await until('every turn waits for its model', () => ids.every((id) => requestsOf(id).length === 1));
  const killed = Date.now();
  await replaceWorker(bench, 'SIGKILL');
  const ready = Date.now() - killed;
  await until('every turn has asked its model again', () => ids.every((id) => requestsOf(id).length >= 2), 120_000);
  return { asked: ids.map((id) => requestsOf(id)[1]!.at - killed), ready };
}
