import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { until } from '../support/until.ts';
import { type Bench, type Part, replaceWorker, warmUp } from './bench.ts';
import { figures, type Row, round } from './figures.ts';
import { total, usageByRole } from './processes.ts';
import { steps } from './turns.ts';

const QUESTION = [{ call: [['ask_user', { question: 'Go on?', options: ['yes', 'no'] }]] }, { say: 'gone on' }];
/** so many requests are on their way at once while the chats are filled and woken */
const LANES = 50;

/** Chats that wait for a person: how one is woken cold, and what happens when all are written to at once. */
export const waiting: Part = {
  name: 'waiting',
  title: 'Chats that wait on a question',
  async run(bench) {
    const { app, taker, pick } = bench;
    // those of another part sleep on
    const others = await turnsWithQuestion(bench);
    const threads = await fallAsleep(bench, pick(20, 300, 2000));
    const rows: Row[] = [];
    // a worker that has just started has no conversation in its cache: the wake-up replays it
    await replaceWorker(bench, 'SIGTERM');
    await warmUp(bench, 3);
    rows.push({
      what: 'one woken cold, after a deployment',
      chats: 1,
      'answer seen ms': await wake(bench, threads.pop()!),
    });
    // what a dead worker had in its cache is offered to it first, until the sticky queue's time-out
    await replaceWorker(bench, 'SIGKILL');
    rows.push({ what: 'one woken cold, after a crash', chats: 1, 'answer seen ms': await wake(bench, threads.pop()!) });

    const interactive = await app.thread();
    await taker.take(interactive, steps(0));
    const begun = Date.now();
    let waking = true;
    const all = pLimit(LANES)
      .map(threads, (thread) => app.say(thread, 'yes'))
      .then(() => until('every turn has ended', async () => (await turnsWithQuestion(bench)) === others, 900_000));
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

/** Memory of everything a minute after chats have gone to sleep on a question. */
export const sleeping: Part = {
  name: 'sleeping',
  title: 'Memory while chats wait on a question',
  async run(bench) {
    const count = bench.pick(20, 300, 3000);
    const before = usageByRole(bench.app);
    await fallAsleep(bench, count);
    await pause(bench.pick(5_000, 30_000, 60_000));
    const after = usageByRole(bench.app);
    const row = (role: string, from: number, to: number): Row => ({
      role,
      chats: count,
      'before MB': round(from, 0),
      'asleep MB': round(to, 0),
    });
    return [
      ...Object.keys(after).map((role) => row(role, before[role]?.memoryMb ?? 0, after[role]!.memoryMb)),
      row('all', total(before, 'memoryMb'), total(after, 'memoryMb')),
    ];
  },
};

/** Lets so many chats ask a question. Returns their threads. */
async function fallAsleep(bench: Bench, count: number): Promise<string[]> {
  const before = await openQuestions(bench);
  const threads: string[] = [];
  await pLimit(LANES).map(Array(count).fill(null), async () => {
    const thread = await bench.app.thread();
    await bench.app.turn(thread, QUESTION);
    threads.push(thread);
  });
  await until('every question is open', async () => (await openQuestions(bench)) === before + count, 900_000);
  return threads;
}

const openQuestions = async ({ app }: Bench): Promise<number> =>
  (await app.store.db.selectFrom('questions').select('id').where('state', '=', 'open').execute()).length;

/** in progress; the interactive chat has none */
const turnsWithQuestion = async ({ app }: Bench): Promise<number> => {
  const turns = app.store.db
    .selectFrom('turns')
    .innerJoin('questions', 'questions.turn_id', 'turns.id')
    .select('turns.id');
  return (await turns.where('turns.status', '=', 'in_progress').execute()).length;
};

async function wake({ app }: Bench, thread: string): Promise<number> {
  const begun = Date.now();
  const { turn_id } = await app.say(thread, 'yes');
  const { db } = app.store;
  await until(
    'the woken turn has ended',
    async () =>
      (await db.selectFrom('turns').select('status').where('id', '=', turn_id).executeTakeFirst())?.status ===
      'completed',
  );
  return Date.now() - begun;
}
