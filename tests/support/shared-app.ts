import { test } from 'vitest';
import type { Autonomy } from '../../src/contracts/conversation.ts';
import { startTestApp, type TestApp } from './app.ts';
import { unfitMessages } from './transcript.ts';
import { until } from './until.ts';

/**
 * An instance that many files share: its start takes more processor time than most of them. It is that of a process of
 * tests and ends with it, see the project `shared` (vitest.config.ts). Each test has threads of its own. A file that
 * ends processes, has settings of its own, or counts what a whole instance holds, starts its own (`app.ts`).
 */
export type SharedApp = Pick<
  TestApp,
  | 'home'
  | 'settings'
  | 'baseUrl'
  | 'databaseUrl'
  | 'store'
  | 'events'
  | 'request'
  | 'thread'
  | 'turn'
  | 'say'
  | 'detail'
  | 'ended'
> & { model: Pick<TestApp['model'], 'requests' | 'asked' | 'hear'> };

interface Shared {
  app: TestApp;
  /** hear the bodies of requests for the model, until their file ends */
  listeners: Set<(body: string) => void>;
  /** messages that a file was told about: the next one is not to blame */
  unfit: Set<string>;
}

const base = test.extend(
  'shared',
  { scope: 'worker' },
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the parameter, and takes no other pattern
  async ({}, { onCleanup }): Promise<Shared> => {
    const app = await startTestApp({ FETCH_TIME_ZONE: 'Europe/Berlin' });
    const listeners: Shared['listeners'] = new Set();
    app.model.hear((body) => {
      for (const listener of listeners) listener(body);
    });
    onCleanup(() => app.close());
    return { app, listeners, unfit: new Set() };
  },
);

/**
 * Hooks of a file: `begin` gets the instance before its tests. The threads that they make, and the console, have this
 * autonomy. The next file finds no turn under way and no workspace that was only written down.
 */
export function useSharedApp(begin: (app: SharedApp) => unknown, autonomy?: Autonomy): void {
  const heard: Array<(body: string) => void> = [];
  base.beforeAll(async ({ shared: { app, listeners } }) => {
    const earlier = app.model.requests().length;
    const { body: console } = await app.request('GET', '/v1/console');
    await setAutonomy(app, (console as { id: string }).id, autonomy ?? 'cautious');
    await begin({
      ...app,
      thread: async (fields) => {
        const thread = await app.thread(fields);
        if (autonomy) await setAutonomy(app, thread, autonomy);
        return thread;
      },
      model: {
        asked: app.model.asked,
        requests: () => app.model.requests().slice(earlier),
        hear: (listener) => {
          heard.push(listener);
          listeners.add(listener);
        },
      },
    });
  });
  base.afterAll(async ({ shared: { app, listeners, unfit } }) => {
    for (const listener of heard) listeners.delete(listener);
    await endTurns(app);
    await app.store.db
      .deleteFrom('workspaces')
      .where('host', 'not in', (of) => of.selectFrom('kennel_hosts').select('host'))
      .execute();
    const found = (await unfitMessages(app.store)).filter((message) => !unfit.has(message));
    for (const message of found) unfit.add(message);
    if (found.length > 0)
      throw new Error(`Messages that speak of the machine (tests/support/transcript.ts):\n${found.join('\n')}`);
  });
}

const setAutonomy = ({ store }: TestApp, thread: string, autonomy: Autonomy): Promise<unknown> =>
  store.db
    .updateTable('chats')
    .set({ autonomy })
    .where('id', '=', (of) => of.selectFrom('threads').select('chat_id').where('id', '=', thread))
    .execute();

async function endTurns(app: TestApp): Promise<void> {
  const running = () =>
    app.store.db.selectFrom('turns').select(['id', 'thread_id']).where('status', '=', 'in_progress').execute();
  for (const { id, thread_id } of await running())
    await app.request('POST', `/v1/threads/${thread_id}/turns/${id}/interrupt`, {});
  await until('no turn is under way', async () => (await running()).length === 0);
}
