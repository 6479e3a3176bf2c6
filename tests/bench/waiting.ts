import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { type Bench, type Part, replaceWorker, warmUp } from './bench.ts';
import { figures, type Row, round } from './figures.ts';
import { total, usageByRole } from './processes.ts';
import { steps } from './turns.ts';

const QUESTION = [{ call: [['ask_user', { question: 'Go on?', options: ['yes', 'no'] }]] }, { say: 'gone on' }];
/** so many requests are on their way at once while the chats are filled and woken */
const LANES = 50;

/** Chats that wait for a person: what they cost while they wait, how one is woken cold, and what happens when all are written to at once. */
export const waiting: Part = {
  name: 'waiting',
  title: 'Chats that wait on a question',
  async run(bench) {
    const { app, taker, pick } = bench;
    const count = pick(20, 300, 3000);
    const before = usageByRole(app);
    const threads: string[] = [];
    await lanes(
      Array.from({ length: count }, (_, at) => at),
      async () => {
        const thread = await app.thread();
        await app.turn(thread, QUESTION);
        threads.push(thread);
      },
    );
    await until('every question is open', async () => (await openQuestions(bench)) === count, 900_000);
    // what was only for the way there is given back by then
    await pause(pick(5_000, 30_000, 60_000));
    const after = usageByRole(app);
    const grown = (role: string) => round((after[role]?.pssMb ?? 0) - (before[role]?.pssMb ?? 0), 1);
    const rows: Row[] = [
      {
        what: 'memory',
        chats: count,
        'all MB': round(total(after, 'pssMb'), 0),
        'worker +MB': grown('worker'),
        'temporal +MB': grown('temporal'),
        'postgres +MB': grown('postgres'),
      },
    ];

    // a worker that has just started has no conversation in its cache: the wake-up replays it
    await replaceWorker(bench, 'SIGTERM');
    await warmUp(bench, 3);
    rows.push({ what: 'one woken cold, after a deployment', chats: 1, 'answer seen ms': await wake(bench, threads.pop()!) });
    // what a dead worker had in its cache is offered to it first, until the sticky queue's time-out
    await replaceWorker(bench, 'SIGKILL');
    rows.push({ what: 'one woken cold, after a crash', chats: 1, 'answer seen ms': await wake(bench, threads.pop()!) });

    const interactive = await app.thread();
    await taker.take(interactive, steps(0));
    const begun = Date.now();
    let waking = true;
    const all = lanes(threads, (thread) => app.say(thread, 'yes').then(() => {})).then(() => until('every turn has ended', () => noneRuns(bench), 900_000));
    const ended = all.finally(() => {
      waking = false;
    });
    const between: number[] = [];
    while (waking) between.push((await taker.take(interactive, steps(0), 120_000)).seen);
    await ended;
    const tookMs = Date.now() - begun;
    rows.push({
      what: 'all written to at once',
      chats: threads.length,
      'all answered after ms': tookMs,
      'turns/s': round((threads.length * 1000) / tookMs, 1),
    });
    rows.push({ what: 'an interactive chat meanwhile', chats: 1, ...figures(between) });
    return rows;
  },
};

const openQuestions = async ({ app }: Bench): Promise<number> =>
  (await app.store.db.selectFrom('questions').select('id').where('state', '=', 'open').execute()).length;

/** apart from the interactive chat, which has turns of its own */
const noneRuns = async ({ app }: Bench): Promise<boolean> => {
  const running = app.store.db.selectFrom('turns').innerJoin('questions', 'questions.turn_id', 'turns.id').select('turns.id');
  return (await running.where('turns.status', '=', 'in_progress').execute()).length === 0;
};

async function wake({ app }: Bench, thread: string): Promise<number> {
  const begun = Date.now();
  const { turn_id } = await app.say(thread, 'yes');
  const { db } = app.store;
  await until(
    'the woken turn has ended',
    async () => (await db.selectFrom('turns').select('status').where('id', '=', turn_id).executeTakeFirst())?.status === 'completed',
  );
  return Date.now() - begun;
}

async function lanes<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
