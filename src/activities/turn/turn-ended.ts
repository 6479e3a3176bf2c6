import type { Logger } from 'pino';
import type { FinishInput } from '../../contracts/conversation.ts';
import type { Db } from '../../store/postgres/database.ts';
import { endedTurn } from '../../store/turns/finish.ts';
import { turnsEnded } from '../../telemetry/metrics.ts';

/** Counts a turn that has ended, and writes one log line. Nobody waits for the line, and when the store is away it is lost. */
export function turnEnded({ db, log }: { db: Db; log?: Logger | undefined }, turnId: string, outcome: 'completed' | FinishInput['status'], why?: string): void {
  turnsEnded.add({ outcome });
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
