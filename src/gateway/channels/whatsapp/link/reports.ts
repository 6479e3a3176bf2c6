import {
  type AccountNews,
  dropWish,
  report,
  tellElsewhere,
  type WaAccount,
} from '../../../../store/whatsapp/account.ts';
import { archiveAuth } from '../../../../store/whatsapp/auth.ts';
import type { WhatsAppDeps } from '../live.ts';
import type { Ended } from './attempt.ts';

/** A reaction that ends the attempts for now. `until` passes by itself, the others need a person. */
interface Stop {
  state: 'disconnected' | 'error';
  needs: string;
  say: string;
  until: Date | null;
}

const UNLINKED: AccountNews = { jid: null, lid: null, name: null, connected_at: null };
const NOTHING_TO_SCAN: AccountNews = { qr: null, pairing_code: null };

/** Writes changes of the account into its row, and tells the other channels when a person is needed. */
export class AccountReports {
  private readonly deps: Pick<WhatsAppDeps, 'db' | 'account' | 'log'>;
  private telling: Promise<void> = Promise.resolve();

  constructor(deps: Pick<WhatsAppDeps, 'db' | 'account' | 'log'>) {
    this.deps = deps;
  }

  /** In order, and a failure is ignored: the row is only for people to read. */
  tell(news: AccountNews): Promise<void> {
    const { db, account, log } = this.deps;
    this.telling = this.telling
      .then(() => report(db, account, news))
      .catch((error: Error) => log.warn({ reason: error.message }, 'the state of WhatsApp could not be recorded'));
    return this.telling;
  }

  alert(what: string, say: string): void {
    const { db, account, log } = this.deps;
    log.warn({ what }, say);
    void tellElsewhere(db, account, `${what}-${Date.now()}`, say, true).catch((error: Error) =>
      log.warn({ reason: error.message }, 'a notice could not be stored'),
    );
  }

  /** Resolves when everything that was told is written. */
  told(): Promise<void> {
    return this.telling;
  }

  async stopFor(row: WaAccount, ended: Ended, stop: Stop): Promise<void> {
    const { db, account } = this.deps;
    const needsPairing = stop.needs === 'pairing';
    if (needsPairing && ended.code === 401) await archiveAuth(db, account);
    if (needsPairing) await dropWish(db, account, row.request);
    await this.tell({
      ...NOTHING_TO_SCAN,
      state: stop.state,
      last_error: stop.say,
      last_code: ended.code ?? null,
      // a ban that ends by itself is waited for
      needs: stop.until ? null : stop.needs,
      blocked_until: stop.until,
      connected_at: null,
      ...(needsPairing && UNLINKED),
    });
    // a person who asked for a pairing is told there
    if (row.jid !== null) this.alert(stop.needs, stop.say);
  }

  async pairingRefused(row: WaAccount, reason: string): Promise<void> {
    const { db, account } = this.deps;
    await dropWish(db, account, row.request);
    await this.tell({ ...NOTHING_TO_SCAN, state: 'disconnected', last_error: reason, needs: 'pairing' });
  }

  async loggedOut(row: WaAccount): Promise<void> {
    const { db, account, log } = this.deps;
    await archiveAuth(db, account);
    await dropWish(db, account, row.request);
    await this.tell({
      ...NOTHING_TO_SCAN,
      ...UNLINKED,
      state: 'disconnected',
      last_error: 'WhatsApp was logged out; run `fetch pair` to link it again.',
      last_code: null,
      needs: 'pairing',
      number_mode: null,
    });
    log.info('logged out of WhatsApp');
  }
}
