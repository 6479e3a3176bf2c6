import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { ComposedServer } from '../../compose/server.ts';
import { until } from '../../support/until.ts';
import { figures, type Row, round } from '../figures.ts';
import { measure } from './usage.ts';

/** so many requests are on their way at once */
const LANES = 40;
const LONG_MS = 60 * 60_000;

/** Chats of a server: those that sleep on a question, and those that talk. */
export class Crowd {
  readonly sleepers: string[] = [];
  private readonly server: ComposedServer;

  constructor(server: ComposedServer) {
    this.server = server;
  }

  /** So many more chats have asked and wait. */
  async fallAsleep(count: number): Promise<void> {
    const open = await this.count("select count(*) from questions where state = 'open'");
    await this.each(Array(count).fill(null), async () => {
      const thread = await this.server.api.thread();
      await this.server.api.say(thread, 'ask me about lunch');
      this.sleepers.push(thread);
    });
    await until(
      `${count} more questions are open`,
      async () => (await this.count("select count(*) from questions where state = 'open'")) === open + count,
      LONG_MS,
    );
  }

  /** Caches, autovacuum and the last timers come to rest. */
  settle = (): Promise<void> => pause(60_000);

  /**
   * From the answer of a person to the end of the turn, one chat after the other: chats that fell asleep long ago,
   * which the worker has forgotten.
   */
  async wakeSome(count: number): Promise<Row[]> {
    const times: number[] = [];
    for (const thread of this.sleepers.splice(0, count)) {
      const begun = performance.now();
      await this.server.api.say(thread, '1');
      await until('the woken turn has ended', async () =>
        (await this.server.api.detail(thread)).turns.every(({ status }) => status === 'completed'),
      );
      times.push(performance.now() - begun);
    }
    const { n, median, p95 } = figures(times);
    return [{ chats: n, 'median ms': round(median, 0), 'p95 ms': round(p95, 0) }];
  }

  /** CPU of each service while everything sleeps, as shares of one core. */
  async idle(ms: number): Promise<Row> {
    const { shares } = await measure(this.server, () => pause(ms));
    return { seconds: ms / 1000, 'cores used': shares };
  }

  /** So many chats that are awake. */
  async rise(count: number): Promise<string[]> {
    const threads: string[] = [];
    await this.each(Array(count).fill(null), async () => void threads.push(await this.server.api.thread()));
    await this.turns(threads);
    return threads;
  }

  /** One turn in each of these chats, all at once, until the last has ended. */
  async turns(threads: string[]): Promise<void> {
    const done = "select count(*) from turns where status = 'completed'";
    const before = await this.count(done);
    await this.each(threads, (thread) => this.server.api.say(thread, 'progress'));
    await until('every turn has ended', async () => (await this.count(done)) >= before + threads.length, LONG_MS);
  }

  private async each<T>(items: T[], act: (item: T) => Promise<unknown>): Promise<void> {
    await pLimit(LANES).map(items, act);
  }

  private readonly count = async (query: string): Promise<number> => Number(await this.server.query('fetch', query));
}
