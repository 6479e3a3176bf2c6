import type { Logger } from 'pino';
import type { Db } from '../../store/postgres/database.ts';
import { endedTurn } from '../../store/turns/finish.ts';

/** One log line for a turn that has ended. Nobody waits for it, and when the store is away the line is lost. */
export function logEndedTurn({ db, log }: { db: Db; log?: Logger | undefined }, turnId: string, why?: string): void {
  if (!log?.isLevelEnabled('info')) return;
  void endedTurn(db, turnId).then(
    (ended) => {
      if (!ended) return;
      const { status, ...figures } = ended;
      log.info({ ...figures, ...(why && { why }) }, `turn ${status}`);
    },
    () => {},
  );
}
