import { readAccount, report } from '../../store/whatsapp/account.ts';
import { readCreds } from '../../store/whatsapp/auth.ts';
import type { AssemblyDeps } from './assembly.ts';
import { opensCredentials } from './link/own-key.ts';
import { checkAddress } from './link/socket.ts';
import { createSealer, WrongKey } from './ratchet/encryption.ts';

export interface WhatsAppOptions extends Omit<AssemblyDeps, 'encryptionKey'> {
  /** asked for when WhatsApp is first wanted, or credentials are found; 64 hex digits */
  encryptionKey(): string;
}

/** One account for each instance, until an instance holds several. */
export const ACCOUNT = 'default';

const LOOK_MS = 1_000;

/**
 * The WhatsApp channel of a gateway. Until somebody wants it there is one small query a second and nothing else: Baileys and the
 * parts around it are loaded at the first wish, and stay.
 */
export function startWhatsApp(options: WhatsAppOptions): { stop(): Promise<void> } {
  const { db, account, log, config } = options;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let refusal: string | null = null;
  let started: Promise<{ stop(): Promise<void> } | null> = Promise.resolve(null);
  try {
    for (const warning of checkAddress(config)) log.warn(warning);
  } catch (error) {
    refusal = (error as Error).message;
    log.error(refusal);
  }

  let looked = false;
  const warnOfKey = async (): Promise<void> => {
    // no key is made where nothing is stored
    const fits = (await readCreds(db, account)) === null || (await opensCredentials(db, account, createSealer(options.encryptionKey())));
    if (!fits) log.error({ reason: new WrongKey().message }, 'this gateway cannot stand by for WhatsApp');
    looked = true;
  };

  const look = async (): Promise<void> => {
    const row = await readAccount(db, account).catch(() => null);
    if (stopped) return;
    // one that is wanted finds out by itself
    if (row?.wanted === 'off' && !looked)
      await warnOfKey().catch((error: Error) => log.warn({ reason: error.message }, 'the WhatsApp credentials could not be looked at'));
    if (row && row.wanted !== 'off' && refusal === null) {
      started = import('./assembly.ts').then(({ assemble }) => assemble({ ...options, encryptionKey: options.encryptionKey() }));
      started = started.catch(async (error: Error) => {
        log.error({ reason: error.message }, 'the WhatsApp channel cannot start');
        await report(db, account, { state: 'error', last_error: error.message }).catch(() => {});
        return null;
      });
      return;
    }
    if (row && row.wanted !== 'off' && row.last_error !== refusal) await report(db, account, { state: 'error', last_error: refusal }).catch(() => {});
    timer = setTimeout(() => void look(), options.times?.pollMs ?? LOOK_MS);
  };
  void look();

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await (await started)?.stop();
    },
  };
}
