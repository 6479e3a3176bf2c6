import { leaseOfAccount, type WaAccount } from '../../../../store/whatsapp/account.ts';
import { acquireLease, type Lease } from '../../shared/lease.ts';
import type { CurrentLive } from '../live.ts';
import { OTHER_KEY, opensCredentials } from '../ratchet/own-key.ts';
import { keepConnected } from './keep-connected.ts';
import { type ConnectionDeps, createLink, either, isResting, type LinkState } from './link-state.ts';

export interface Connection {
  readonly live: CurrentLive;
  /**
   * whether this gateway passes stored messages to their conversations: it holds the account, or no gateway does and
   * none will
   */
  receives(): boolean;
  /** closes the socket, waits for running sends, gives the lease back */
  stop(): Promise<void>;
}

const FAILED_MS = 10_000;
const NOT_CONNECTED = { state: 'disconnected', qr: null, pairing_code: null, connected_at: null } as const;

/**
 * Keeps the one connection of an account: waits until somebody wants it, takes the lease, connects, and reacts to each
 * close by the table of
 * `domain/whatsapp/disconnect.ts`. Its state and needs are in the account's row.
 */
export function startConnection(deps: ConnectionDeps): Connection {
  const link = createLink(deps);
  const running = run(link).catch((error: Error) => deps.exit(`the WhatsApp connection failed: ${error.message}`));
  return {
    live: () => link.live,
    receives() {
      if (link.lease) return !link.lease.lost.aborted;
      const row = link.desired.row();
      return row !== null && isResting(row) && row.lease_holder === null;
    },
    async stop() {
      link.stopping.abort();
      await running;
      link.desired.stop();
      await link.reports.told();
    },
  };
}

async function run(link: LinkState): Promise<void> {
  const { deps, desired, stopping } = link;
  while (!stopping.signal.aborted) {
    const row = await desired.look().catch(() => null);
    if (!row || isResting(row)) {
      await rest(link, row);
    } else if (!(await keyFits(deps))) {
      await wrongKey(link, row);
      await either(stopping.signal, desired.changed(), FAILED_MS);
    } else {
      link.wrongKeyTold = false;
      const lease = await leaseOf(link);
      if (lease) await hold(link, lease);
    }
  }
}

/** Waits for a request. */
async function rest({ desired, reports, stopping, pollMs }: LinkState, row: WaAccount | null): Promise<void> {
  if (row?.wanted === 'off' && row.state !== 'disconnected' && row.state !== 'error') await reports.tell(NOT_CONNECTED);
  await either(stopping.signal, desired.changed(), row ? 60_000 : pollMs);
}

/** An unreachable database does not mean that the key is wrong. */
const keyFits = ({ db, account, sealer }: ConnectionDeps): Promise<boolean> =>
  opensCredentials(db, account, sealer).catch(() => true);

/**
 * Says it at once, not only at a takeover. While a gateway can read the credentials, the account's row belongs to that
 * one.
 */
async function wrongKey(link: LinkState, row: WaAccount): Promise<void> {
  const message = OTHER_KEY;
  if (!link.wrongKeyTold) link.deps.log.error({ reason: message }, 'this gateway cannot stand by for WhatsApp');
  link.wrongKeyTold = true;
  if (row.lease_until && row.lease_until > new Date()) return;
  if (row.wanted === 'out') return link.reports.loggedOut(row);
  await link.reports.tell({ state: 'error', last_error: message, qr: null, pairing_code: null });
}

/** The lease of the account, or null when a new request comes first. */
async function leaseOf({ deps, desired, stopping }: LinkState): Promise<Lease | null> {
  const { db, account, holder, log, times = {} } = deps;
  return await acquireLease(
    {
      row: leaseOfAccount(db, account),
      of: 'WhatsApp account',
      holder,
      log,
      ttlMs: times.leaseTtlMs,
      everyMs: times.leaseEveryMs,
      able: () => keyFits(deps),
    },
    AbortSignal.any([stopping.signal, desired.changed()]),
    () => log.info('another gateway holds this WhatsApp account; waiting for its lease'),
  );
}

/** Keeps the connection while we have the lease, and then gives the lease back. */
async function hold(link: LinkState, lease: Lease): Promise<void> {
  const { deps, desired, reports, stopping } = link;
  link.lease = lease;
  try {
    await keepConnected(link, lease);
  } catch (error) {
    const { message } = error as Error;
    await reports.tell({ state: 'error', last_error: message, qr: null, pairing_code: null });
    deps.log.error({ reason: message }, 'WhatsApp cannot be used');
    await either(stopping.signal, desired.changed(), FAILED_MS);
  } finally {
    if (!lease.lost.aborted && stopping.signal.aborted) await reports.tell(NOT_CONNECTED);
    link.lease = null;
    await lease.release();
  }
}
