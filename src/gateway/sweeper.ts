import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import { createLog } from '../log.ts';
import type { Db } from '../store/database.ts';
import { reconcile } from './reconcile.ts';
import { resignal } from './signal.ts';

const SWEEP_MS = 1000;
const RECONCILE_MS = 30_000;

/** Looks for inbox rows whose signal was lost, for as long as the gateway lives; returns how to stop. Several gateways may do it: a doubled signal is dropped. */
export function sweep(deps: { db: Db; temporal: Client; config: Config }): () => void {
  const log = createLog('sweeper', deps.config.LOG_LEVEL);
  let stopped = false;
  let reconcileAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const round = async (): Promise<void> => {
    const found = await resignal(deps).catch((error) => {
      log.warn({ error: (error as Error).message }, 'could not signal again; the rows are kept and the next round tries them');
      return 0;
    });
    if (found > 0) log.info({ found }, 'signalled messages again whose signal was lost');
    if (Date.now() >= reconcileAt) {
      reconcileAt = Date.now() + RECONCILE_MS;
      await reconcile(deps).then(
        ({ turns, schedules, tasks }) => {
          if (turns + schedules + tasks > 0) log.warn({ turns, schedules, tasks }, 'brought back what the Temporal server no longer had');
        },
        (error) => log.warn({ error: (error as Error).message }, 'could not compare the database with the Temporal server; the next round tries again'),
      );
    }
    if (!stopped) timer = setTimeout(() => void round(), SWEEP_MS);
  };
  void round();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
