import { DAY, HOUR } from '../../domain/time.ts';
import type { createLog } from '../../log.ts';
import { idleSessions } from '../../store/chats/sessions/sessions.ts';
import { IntakeError } from './intake-error.ts';
import { deleteSession } from './sessions.ts';
import type { IntakeDeps } from './signal.ts';

/** in one round; the next one takes what is left */
const AT_ONCE = 200;

/**
 * Erases the texts of sessions in which nothing was said for FETCH_KEEP_DAYS, as their deletion does. One at work is
 * left for a later round.
 */
export function retention(
  deps: Pick<IntakeDeps, 'db' | 'config'>,
  log: ReturnType<typeof createLog>,
): () => Promise<number> {
  return async () => {
    const days = deps.config.FETCH_KEEP_DAYS;
    if (days === undefined) return HOUR;
    try {
      const deleted = await deleteIdle(deps, new Date(Date.now() - days * DAY));
      if (deleted > 0) log.info({ deleted, days }, 'erased sessions that were older than FETCH_KEEP_DAYS');
    } catch (error) {
      log.warn(
        { error: (error as Error).message },
        'could not look for sessions that are to be erased; the next round does',
      );
    }
    return HOUR;
  };
}

export async function deleteIdle(deps: Pick<IntakeDeps, 'db'>, before: Date): Promise<number> {
  let deleted = 0;
  for (const id of await idleSessions(deps.db, before, AT_ONCE)) {
    try {
      await deleteSession(deps, id);
      deleted += 1;
    } catch (error) {
      if (!(error instanceof IntakeError)) throw error;
    }
  }
  return deleted;
}
