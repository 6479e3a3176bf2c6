import type { Client } from '@temporalio/client';
import pino from 'pino';
import type { Config } from '../config.ts';
import type { Db } from '../store/database.ts';
import { resignal } from './signal.ts';

const SWEEP_MS = 1000;

/** Looks for inbox rows whose signal was lost, for as long as the gateway lives; returns how to stop. Several gateways may do it: a doubled signal is dropped. */
export function sweep(deps: { db: Db; temporal: Client; config: Config }): () => void {
  const log = pino({ level: deps.config.LOG_LEVEL, base: { part: 'sweeper' } }, pino.destination(2));
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const round = async (): Promise<void> => {
    const found = await resignal(deps).catch((error) => {
      log.warn({ error: (error as Error).message }, 'could not signal again; the rows are kept and the next round tries them');
      return 0;
    });
    if (found > 0) log.info({ found }, 'signalled messages again whose signal was lost');
    if (!stopped) timer = setTimeout(() => void round(), SWEEP_MS);
  };
  void round();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
