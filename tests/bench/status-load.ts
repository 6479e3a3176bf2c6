import type { Bench, Part } from './bench.ts';
import { percentile, type Row, round } from './figures.ts';
import { steps } from './turns.ts';

const CHATS = 5;

/** `/api/status` while chats work, and what it costs them. */
export const statusLoad: Part = {
  name: 'status',
  title: `/api/status while ${CHATS} chats take turns with one tool call`,
  async run(bench) {
    const ms = bench.pick(3_000, 10_000, 30_000);
    const rows: Row[] = [];
    for (const [askers, chats] of [
      [1, 0],
      [0, CHATS],
      [1, CHATS],
      [20, CHATS],
    ] as const)
      rows.push(await under(bench, { askers, chats, ms }));
    return rows;
  },
};

async function under(
  { app, taker }: Bench,
  { askers, chats, ms }: { askers: number; chats: number; ms: number },
): Promise<Row> {
  const threads = await Promise.all(Array.from({ length: chats }, () => app.thread()));
  const until = performance.now() + ms;
  const answers: number[] = [];
  let turns = 0;
  const asker = async () => {
    while (performance.now() < until) {
      const began = performance.now();
      const answer = await fetch(`${app.statusUrl}/api/status`);
      await answer.json();
      if (answer.status !== 200) throw new Error(`/api/status answered ${answer.status}`);
      answers.push(performance.now() - began);
    }
  };
  const chat = async (thread: string) => {
    while (performance.now() < until) {
      await taker.take(thread, steps(1));
      turns += 1;
    }
  };
  await Promise.all([...Array.from({ length: askers }, asker), ...threads.map(chat)]);
  const share = (part: number) => (answers.length > 0 ? round(percentile(answers, part)) : '');
  const perSecond = (count: number) => round((count * 1_000) / ms, 1);
  return {
    askers,
    chats,
    'answers/s': perSecond(answers.length),
    'median ms': share(0.5),
    'p95 ms': share(0.95),
    'turns/s': perSecond(turns),
  };
}
