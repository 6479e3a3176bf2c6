import type { WaAccount } from '../../../store/whatsapp/account.ts';
import type { CurrentLive } from '../live.ts';
import { WrongKey } from '../ratchet/encryption.ts';
import { opensCredentials } from '../ratchet/own-key.ts';
import { keepConnected } from './keep-connected.ts';
import { acquireLease, type Lease } from './lease.ts';
import { type ConnectionDeps, createLink, either, isResting, type LinkState } from './link-state.ts';

export interface Connection {
  readonly live: CurrentLive;
  /** whether stored messages are this gateway's to bring into their conversations: it holds the account, or nobody does and nobody is to */
  receives(): boolean;
  /** closes the socket, lets what was sending finish, gives the lease back */
  stop(): Promise<void>;
}

const FAILED_MS = 10_000;
const NOT_CONNECTED = { state: 'disconnected', qr: null, pairing_code: null, connected_at: null } as const;

/**
 * Keeps the one connection of an account: waits until somebody wants it, holds the lease, connects, and reacts to every close as
 * the table of `domain/whatsapp/disconnect.ts` says. What it does and what it needs stands in the account's row.
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

/** Waits until somebody wants something. */
async function rest({ desired, reports, stopping, pollMs }: LinkState, row: WaAccount | null): Promise<void> {
  if (row?.wanted === 'off' && row.state !== 'disconnected' && row.state !== 'error') await reports.tell(NOT_CONNECTED);
  await either(stopping.signal, desired.changed(), row ? 60_000 : pollMs);
}

/** A database that is away says nothing against the key. */
const keyFits = ({ db, account, sealer }: ConnectionDeps): Promise<boolean> => opensCredentials(db, account, sealer).catch(() => true);

/** Said at once and not at a takeover. The account's row belongs to the gateway that can read the credentials, while there is one. */
async function wrongKey(link: LinkState, row: WaAccount): Promise<void> {
  const { message } = new WrongKey();
  if (!link.wrongKeyTold) link.deps.log.error({ reason: message }, 'this gateway cannot stand by for WhatsApp');
  link.wrongKeyTold = true;
  if (row.lease_until && row.lease_until > new Date()) return;
  if (row.wanted === 'out') return link.reports.loggedOut(row);
  await link.reports.tell({ state: 'error', last_error: message, qr: null, pairing_code: null });
}

/** The lease of the account, or null when something else is wanted first. */
async function leaseOf({ deps, desired, stopping }: LinkState): Promise<Lease | null> {
  const { db, account, holder, log, times = {} } = deps;
  return await acquireLease(
    { db, account, holder, log, ttlMs: times.leaseTtlMs, everyMs: times.leaseEveryMs, able: () => keyFits(deps) },
    AbortSignal.any([stopping.signal, desired.changed()]),
    () => log.info('another gateway holds this WhatsApp account; waiting for its lease'),
  );
}

/** Keeps the connection for as long as the lease is ours, and gives the lease back. */
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
