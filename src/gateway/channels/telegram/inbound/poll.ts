import { setTimeout as pause } from 'node:timers/promises';
import type { Update } from '@grammyjs/types';
import type { Logger } from 'pino';
import type { Db } from '../../../../store/postgres/database.ts';
import { reportProblem } from '../../../../store/telegram/bots.ts';
import { type NewUpdate, storeUpdates } from '../../../../store/telegram/inbox.ts';
import { pauseAfter, problemOf, type TelegramApi, TelegramError } from '../api.ts';
import { ALLOWED_UPDATES, storable } from './decode.ts';

/** How long Telegram holds a poll back while nothing happens, in seconds. */
const POLL_SECONDS = 50;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

interface PollDeps {
  db: Db;
  log: Logger;
  api: TelegramApi;
  /** there are new rows */
  onStored(): void;
}

/** A poll that brings nothing new takes at least this long, because a broken server may answer at once. */
const SHORTEST_POLL_MS = 1_000;

/**
 * Stores what happens until the signal. Telegram forgets an update as soon as a later offset is asked for, so the
 * offset moves only after the transaction that stored the update. It is not stored: a first poll without it brings
 * everything that is unconfirmed, and keys drop what is stored already.
 */
export async function pollUpdates({ db, log, api, onStored }: PollDeps, signal: AbortSignal): Promise<void> {
  let offset: number | undefined;
  let failures = 0;
  while (!signal.aborted) {
    const begun = performance.now();
    try {
      const updates = await api.poll<Update>(
        { ...(offset !== undefined && { offset }), timeout: POLL_SECONDS, allowed_updates: ALLOWED_UPDATES },
        signal,
      );
      await storeUpdates(
        db,
        api.botId,
        updates.flatMap((update) => readable(log, update)),
      );
      // ids of updates may fall after a quiet week, so the last one counts and not the highest
      const next = updates.at(-1) ? updates.at(-1)!.update_id + 1 : offset;
      const isNew = next !== offset;
      offset = next;
      if (failures > 0) log.info('Telegram answers again');
      failures = 0;
      await reportProblem(db, api.botId, null);
      if (updates.length > 0) onStored();
      if (!isNew) await pause(SHORTEST_POLL_MS - (performance.now() - begun), undefined, { signal });
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof TelegramError ? error.failure : null;
      const problem = problemOf(failure);
      // a webhook of an earlier use of the bot; what waits there comes with a poll
      if (failure?.kind === 'refused' && failure.code === 409 && /webhook/i.test(failure.description))
        await api.call('deleteWebhook').catch(() => {});
      log.warn({ reason: (error as Error).message }, problem);
      await reportProblem(db, api.botId, problem).catch(() => {});
      const again = Math.max(pauseAfter(failure) ?? 0, Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS));
      await pause(again, undefined, { signal }).catch(() => {});
      failures = Math.min(failures + 1, 10);
    }
  }
}

/** An update that cannot be taken apart would come again with every poll, and hold up all that follow. */
function readable(log: Logger, update: Update): NewUpdate[] {
  try {
    const read = storable(update);
    return read ? [read] : [];
  } catch (error) {
    log.error(
      { reason: (error as Error).message },
      'an update of Telegram has no form that is known; it is passed over',
    );
    return [];
  }
}
