import type { Bench, Part } from './bench.ts';
import { figures, type Row, round } from './figures.ts';
import { activitiesOf, steps } from './turns.ts';

/** Chats at once, each taking its turns one after the other; the bare workflow with as many in flight. */
export const manyChats: Part = {
  name: 'many',
  title: 'Chats at once (1 tool call a turn, 4 activities)',
  async run(bench) {
    const rows: Row[] = [];
    for (const chats of bench.pick([1, 5], [1, 20, 100], [1, 20, 100])) {
      const each = Math.max(2, Math.round(bench.pick(10, 100, 600) / chats));
      rows.push({ chats, ...(await ours(bench, chats, each)), ...(await theirs(bench, chats, each)) });
    }
    return rows;
  },
};

async function ours({ app, taker }: Bench, chats: number, each: number): Promise<Row> {
  const threads = await Promise.all(Array.from({ length: chats }, () => app.thread()));
  const times: number[] = [];
  const perSecond = await rate(
    threads,
    each,
    async (thread) => void times.push((await taker.take(thread, steps(1), 300_000)).seen),
  );
  return { 'turns/s': perSecond, 'median ms': figures(times).median, 'p95 ms': figures(times).p95 };
}

async function theirs({ bare }: Bench, chats: number, each: number): Promise<Row> {
  const times: number[] = [];
  const lanes = Array.from({ length: chats }, (_, at) => at);
  const perSecond = await rate(lanes, each, async () => void times.push(await bare.run(activitiesOf(1))));
  return { 'bare /s': perSecond, 'bare p95 ms': figures(times).p95 };
}

async function rate<T>(lanes: readonly T[], each: number, act: (lane: T) => Promise<void>): Promise<number> {
  const begun = performance.now();
  await Promise.all(
    lanes.map(async (lane) => {
      for (let at = 0; at < each; at++) await act(lane);
    }),
  );
  return round((lanes.length * each * 1000) / (performance.now() - begun), 1);
}
