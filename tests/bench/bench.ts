import { Client, Connection } from '@temporalio/client';
import { startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { type Bare, startBare } from './bare.ts';
import type { Row } from './figures.ts';
import { openTaker, steps, type TurnTaker } from './turns.ts';

/**
 * How much is measured: `small` shows that it works (two minutes), `medium` is what a shared machine allows, `full` is
 * what the issue asks for.
 */
export type Size = 'small' | 'medium' | 'full';

/** An instance with the scripted model (latency 0) and the bare workflow on the same Temporal server. */
export interface Bench {
  app: TestApp;
  temporal: Client;
  bare: Bare;
  taker: TurnTaker;
  size: Size;
  /** the one of three values that belongs to the size */
  pick<T>(small: T, medium: T, full: T): T;
  workflowOf(threadId: string): Promise<string>;
  close(): Promise<void>;
}

export interface Part {
  name: string;
  title: string;
  run(bench: Bench): Promise<Row[]>;
}

export async function openBench(size: Size): Promise<Bench> {
  // a thousand turns of one chat spend more in a minute than a person does in a day; fifty tasks are more than a laptop
  // should run
  const settings = {
    FETCH_MAX_DAY_TOKENS: '2000000000',
    FETCH_MAX_DAY_USD: '1000000',
    FETCH_MAX_MONTH_TOKENS: '2000000000',
    FETCH_MAX_MONTH_USD: '1000000',
    FETCH_KENNEL_SLOTS: '50',
  };
  const app = await startTestApp(settings, { skim: true });
  const connection = await Connection.connect({ address: app.temporalAddress });
  const temporal = new Client({ connection });
  const bare = await startBare(temporal, app.temporalAddress, app.model.baseUrl);
  const taker = await openTaker(app);
  return {
    app,
    temporal,
    bare,
    taker,
    size,
    pick: (small, medium, full) => ({ small, medium, full })[size],
    async workflowOf(threadId) {
      const { db } = app.store;
      const chat = db
        .selectFrom('threads')
        .innerJoin('chats', 'chats.id', 'threads.chat_id')
        .select('chats.workflow_id');
      return (await chat.where('threads.id', '=', threadId).executeTakeFirstOrThrow()).workflow_id;
    },
    async close() {
      await taker.close();
      await bare.close();
      await connection.close();
      await app.close();
    },
  };
}

/** Compilers, caches and connection pools settle in the first turns: they are not what is measured. */
export async function warmUp({ app, bare, taker }: Bench, turns = 15): Promise<void> {
  const thread = await app.thread();
  for (let at = 0; at < turns; at++) {
    await taker.take(thread, steps(1));
    await bare.run(4);
  }
}

/**
 * Ends the worker, the kind way or the hard one, and waits for its successor: the recorded state may still be that of
 * the dead one.
 */
export async function replaceWorker({ app }: Bench, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const worker = () => app.state().roles.find((role) => role.name === 'worker');
  const old = worker()!.pid!;
  process.kill(old, signal);
  await until('another worker is ready', () => worker()?.state === 'ready' && worker()?.pid !== old);
}
