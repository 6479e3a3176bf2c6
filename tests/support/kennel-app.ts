import type { TestApp } from './app.ts';
import { until } from './until.ts';

/** Waits until the host of an instance has containers; its own reason is the error where it has none. */
export const kennelReady = (app: TestApp): Promise<unknown> =>
  until(
    'the host has containers',
    async () => {
      const host = await app.store.db.selectFrom('kennel_hosts').selectAll().executeTakeFirst();
      if (host?.problem) throw new Error(host.problem);
      return host?.ready;
    },
    60_000,
  );
