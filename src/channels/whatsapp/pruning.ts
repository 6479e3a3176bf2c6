import { KEPT_DAYS, pruneContent } from '../../store/whatsapp/prune.ts';
import type { WhatsAppDeps } from './live.ts';

const HOUR_MS = 3_600_000;

/** Empties the content of old messages, now and every hour; returns how to stop. */
export function startPruning({ db, account, log }: Pick<WhatsAppDeps, 'db' | 'account' | 'log'>): () => void {
  const prune = () =>
    void pruneContent(db, account, new Date(Date.now() - KEPT_DAYS * 24 * HOUR_MS)).then(
      (rows) => rows > 0 && log.info({ rows }, `emptied WhatsApp messages that are older than ${KEPT_DAYS} days`),
      (error: Error) => log.warn({ reason: error.message }, 'old WhatsApp messages could not be emptied; tried again in an hour'),
    );
  prune();
  const timer = setInterval(prune, HOUR_MS);
  return () => clearInterval(timer);
}
