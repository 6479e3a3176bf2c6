import { setTimeout as pause } from 'node:timers/promises';
import type { Update } from '@grammyjs/types';
import type { Logger } from 'pino';
import type { Db } from '../../../../store/postgres/database.ts';
import { reportProblem } from '../../../../store/telegram/bots.ts';
import { type NewUpdate, storeUpdates } from '../../../../store/telegram/inbox.ts';
import { type TelegramApi, TelegramError } from '../api.ts';
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

/**
 * Stores what happens until the signal. Telegram forgets an update as soon as a later offset is asked for, so the
 * offset moves only after the transaction that stored the update. It is not stored: a first poll without it brings
 * everything that is unconfirmed, and keys drop what is stored already.
 */
export async function pollUpdates({ db, log, api, onStored }: PollDeps, signal: AbortSignal): Promise<void> {
  let offset: number | undefined;
  let failures = 0;
  while (!signal.aborted) {
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
      offset = updates.at(-1) ? updates.at(-1)!.update_id + 1 : offset;
      if (failures > 0) log.info('Telegram answers again');
      failures = 0;
      await reportProblem(db, api.botId, null);
      if (updates.length > 0) onStored();
    } catch (error) {
      if (signal.aborted) return;
      const problem = await problemOf(api, error as Error);
      log.warn({ reason: (error as Error).message }, problem);
      await reportProblem(db, api.botId, problem).catch(() => {});
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), undefined, { signal }).catch(() => {});
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

/**
 * What is wrong, for people. A webhook of an earlier use of the bot is taken off; what waits there comes with a poll.
 */
async function problemOf(api: TelegramApi, error: Error): Promise<string> {
  if (!(error instanceof TelegramError)) return 'What came from Telegram could not be stored; it is asked for again.';
  const { failure } = error;
  if (failure.kind !== 'refused') return 'Telegram cannot be reached.';
  if (failure.code === 401 || failure.code === 404)
    return 'Telegram does not accept FETCH_TELEGRAM_TOKEN. Get a token from @BotFather, and set it.';
  if (failure.code !== 409) return `Telegram refuses to send messages: ${failure.description}`;
  if (!/webhook/i.test(failure.description)) return 'Another program reads the messages of this Telegram bot.';
  await api.call('deleteWebhook').catch(() => {});
  return 'The Telegram bot had a webhook, which was removed.';
}
