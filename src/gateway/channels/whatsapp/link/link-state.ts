import { setTimeout as pause } from 'node:timers/promises';
import type { Sealer } from '../../../../adapters/encryption.ts';
import type { Db } from '../../../../store/postgres/database.ts';
import {
  type AccountNews,
  dropWish,
  readAccount,
  report,
  tellElsewhere,
  type WaAccount,
} from '../../../../store/whatsapp/account.ts';
import { archiveAuth } from '../../../../store/whatsapp/auth.ts';
import type { LeaseHolder } from '../../channel.ts';
import type { Lease } from '../../shared/lease.ts';
import type { Baileys } from '../library/baileys.ts';
import type { Live, OnOpen, WhatsAppDeps } from '../live.ts';
import type { AuthState } from '../ratchet/auth-state.ts';
import type { Ended } from './attempt.ts';
import { type SocketCaches, type SocketQuestions, socketCaches } from './socket.ts';
import type { WatchdogTimes } from './watchdog.ts';

export interface ConnectionDeps extends WhatsAppDeps {
  baileys: () => Promise<Baileys>;
  holder: LeaseHolder;
  sealer: Sealer;
  questions: SocketQuestions;
  onOpen: readonly OnOpen[];
  /** called when messages were stored */
  onStored(): void;
  /** ends the process, so that the supervisor starts a new one */
  exit(reason: string): void;
  /** shortened by tests; ms */
  times?: { pollMs?: number; leaseTtlMs?: number; leaseEveryMs?: number; watchdog?: Partial<WatchdogTimes> };
  random?: () => number;
}

/** State of the link to WhatsApp of one account, while the gateway runs. */
export interface LinkState {
  readonly deps: ConnectionDeps;
  readonly pollMs: number;
  /** aborted when the gateway stops */
  readonly stopping: AbortController;
  /** what people want of the account */
  readonly desired: DesiredState;
  readonly reports: AccountReports;
  /** caches that outlive a socket */
  readonly caches: SocketCaches;
  /** what the watchdogs of successive connections know about silence */
  readonly silence: { reconnections: number };
  live: Live | null;
  lease: Lease | null;
  /** the person was told that our key does not open the stored credentials */
  wrongKeyTold: boolean;
}

/** State over several connections, while this gateway holds the account. */
export interface HeldAccount {
  readonly link: LinkState;
  readonly baileys: Baileys;
  /** aborted at a stop, and when the lease is lost */
  readonly over: AbortSignal;
  auth: AuthState;
  /** failed connections in a row */
  closes: number;
  /** version to announce; null: the bundled one */
  version: string | null;
  /** WhatsApp refused our version, and a newer one was already looked for */
  versionTried: boolean;
}

const POLL_MS = 1_000;

export function createLink(deps: ConnectionDeps): LinkState {
  const pollMs = deps.times?.pollMs ?? POLL_MS;
  return {
    deps,
    pollMs,
    stopping: new AbortController(),
    desired: watchDesiredState(deps.db, deps.account, pollMs),
    reports: new AccountReports(deps),
    caches: socketCaches(),
    silence: { reconnections: 0 },
    live: null,
    lease: null,
    wrongKeyTold: false,
  };
}

/** Nobody wants a connection, or only a person can help. */
export const isResting = ({ wanted, needs }: WaAccount): boolean => wanted === 'off' || needs === 'person';

/** Resolves when either signal is aborted, or after `ms`. */
export async function either(first: AbortSignal, second: AbortSignal, ms: number): Promise<void> {
  await pause(ms, undefined, { signal: AbortSignal.any([first, second]) }).catch(() => {});
}

/**
 * What people want of the account. It is read regularly, because requests come from other processes through the row.
 */
interface DesiredState {
  /** the row as last read; null when there is none */
  row(): WaAccount | null;
  /** aborted at the next new request; then replaced by a fresh signal */
  changed(): AbortSignal;
  /** reads the row now */
  look(): Promise<WaAccount | null>;
  stop(): void;
}

function watchDesiredState(db: Db, account: string, pollMs: number): DesiredState {
  let row: WaAccount | null = null;
  let seen: number | null = null;
  let changed = new AbortController();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<WaAccount | null> => {
    row = await readAccount(db, account);
    const request = row?.request ?? 0;
    if (seen !== null && request !== seen) {
      const before = changed;
      changed = new AbortController();
      seen = request;
      before.abort();
    }
    seen ??= request;
    return row;
  };
  const round = async (): Promise<void> => {
    // an unreachable database is asked again; the connection lives while its lease does
    await look().catch(() => null);
    if (!stopped) timer = setTimeout(() => void round(), pollMs);
  };
  void round();
  return {
    row: () => row,
    changed: () => changed.signal,
    look,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

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
class AccountReports {
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
      last_error: 'WhatsApp was logged out; link it again on my page, under Settings, WhatsApp.',
      last_code: null,
      needs: 'pairing',
      number_mode: null,
    });
    log.info('logged out of WhatsApp');
  }
}
