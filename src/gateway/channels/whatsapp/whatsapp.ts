import { setTimeout as pause } from 'node:timers/promises';
import { createSealer } from '../../../adapters/encryption.ts';
import { readAccount, report } from '../../../store/whatsapp/account.ts';
import { readCreds } from '../../../store/whatsapp/auth.ts';
import type { ChannelDriver, Gateway, RunningChannel } from '../channel.ts';
import { checkAddress } from './link/socket.ts';
import { OTHER_KEY, opensCredentials } from './ratchet/own-key.ts';

/** One account for each instance. */
const ACCOUNT = 'default';

const LOOK_MS = 1_000;
/**
 * How long a stop waits for a WhatsApp server that does not answer. The next gateway repeats an unfinished send under
 * the same id.
 */
const STOP_MS = 1_200;

export const whatsapp: ChannelDriver<'whatsapp'> = { name: 'whatsapp', start: async (gateway) => standBy(gateway) };

/**
 * Until somebody wants WhatsApp, this only makes one small query a second. Baileys and the parts around it are loaded
 * at the first request, and stay.
 */
function standBy(gateway: Gateway): RunningChannel {
  const { db, log } = gateway;
  const refusal = refusedAddress(gateway);
  const stopping = new AbortController();

  /** Resolves when the channel is wanted, or never if a stop comes first. */
  async function wanted(): Promise<void> {
    let checked = false;
    while (!stopping.signal.aborted) {
      const row = await readAccount(db, ACCOUNT).catch(() => null);
      if (stopping.signal.aborted) return;
      if (row && row.wanted !== 'off') {
        if (refusal === null) return;
        if (row.last_error !== refusal)
          await report(db, ACCOUNT, { state: 'error', last_error: refusal }).catch(() => {});
      }
      // a wanted channel finds it out by itself
      if (row?.wanted === 'off' && !checked)
        checked = await checkKey(gateway).catch((error: Error) => {
          log.warn({ reason: error.message }, 'the WhatsApp credentials could not be looked at');
          return false;
        });
      await pause(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  const assembled = wanted().then(async (): Promise<{ stop(): Promise<void> } | null> => {
    if (stopping.signal.aborted) return null;
    try {
      const { assemble } = await import('./assembly.ts');
      return assemble(gateway, ACCOUNT);
    } catch (error) {
      const reason = (error as Error).message;
      log.error({ reason }, 'the WhatsApp channel cannot start');
      await report(db, ACCOUNT, { state: 'error', last_error: reason }).catch(() => {});
      return null;
    }
  });

  return {
    async stop() {
      stopping.abort();
      await Promise.race([assembled.then((channel) => channel?.stop()), pause(STOP_MS)]);
    },
  };
}

/** Logs a warning when the settings name another server. Returns why the address is refused, or null. */
function refusedAddress({ config, log }: Gateway): string | null {
  try {
    for (const warning of checkAddress(config)) log.warn(warning);
    return null;
  } catch (error) {
    const { message } = error as Error;
    log.error(message);
    return message;
  }
}

/**
 * Says when the stored credentials were written with another key; true once that is known. Creates no key while nothing
 * is stored.
 */
async function checkKey({ db, log, encryptionKey }: Gateway): Promise<true> {
  const fits =
    (await readCreds(db, ACCOUNT)) === null || (await opensCredentials(db, ACCOUNT, createSealer(encryptionKey())));
  if (!fits) log.error({ reason: OTHER_KEY }, 'this gateway cannot stand by for WhatsApp');
  return true;
}
