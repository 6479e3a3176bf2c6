import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type HostClaim, holdHost, hostHolder, releaseHost } from '../store/kennel/hosts.ts';
import type { Db } from '../store/postgres/database.ts';
import { fail } from './failure.ts';

/** How long a host's lease outlives its last renewal. Afterwards another process may take the name. */
export const LEASE_MS = 30_000;
/** A host counts its own lease as ended earlier than the database does, so that its containers are frozen by then. */
const OWN_SHARE = 0.6;
const RENEWALS = 6;
const LOOK_MS = 200;

export interface HostLease {
  /** false when, as far as this process knows, another host may have this host's name or its tasks */
  held(): boolean;
  /** stops renewing, and gives the lease back */
  release(): Promise<void>;
}

interface LeaseChanges {
  /** it could not be renewed in time */
  lapsed(): void;
  /** it was renewed after all, and nobody had it in between */
  regained(): void;
  /** another process has it */
  taken(): void;
}

/** Another machine serves this name. */
export class HostTaken extends Error {
  override readonly name = 'HostTaken';
}

/**
 * Waits for the lease of a host's name, at most until an unrenewed one would have ended. `isDead`: whether a holder on
 * this machine is known to be dead.
 */
export async function takeHost(db: Db, claim: HostClaim, isDead: (holder: string) => Promise<boolean>): Promise<void> {
  const giveUp = Date.now() + claim.ttlMs + 2_000;
  for (;;) {
    if (await holdHost(db, claim)) return;
    const other = await hostHolder(db, claim.host);
    // if the holder was a killed process of this machine, there is no need to wait
    if (other?.holder && (await isDead(other.holder)) && (await holdHost(db, claim, other.holder))) return;
    const foreign = other?.identity !== claim.identity;
    if (other && foreign && !other.live)
      throw new HostTaken(`${nameOf(claim)} belongs to another machine, which has tasks that are not over. ${HOW}`);
    if (Date.now() > giveUp)
      throw new HostTaken(
        `${nameOf(claim)} is served by another process (${other?.holder ?? 'unknown'}), which is alive. ${HOW}`,
      );
    await pause(Math.min(1_000, claim.ttlMs / RENEWALS));
  }
}

/** A host starts, passes on and commits nothing for a task that may already belong to another host. */
export function requireHeld(
  { host, lease }: { host: string; lease: Pick<HostLease, 'held'> },
  task: { id: string; host: string },
): void {
  if (task.host !== host)
    throw fail('NotFound', `Task ${task.id} is on the host "${task.host}" now, and this is "${host}".`);
  if (!lease.held()) throw fail('KennelUnavailable', `The host "${host}" cannot renew its lease now.`);
}

const nameOf = ({ host }: HostClaim): string => `The kennel host name "${host}"`;
const HOW = 'Give this machine a name of its own: FETCH_KENNEL_HOST.';

/** Renews a lease that was just taken, and reports its changes. */
export function keepHost({
  db,
  claim,
  log,
  on,
}: {
  db: Db;
  claim: HostClaim;
  log: Logger;
  on: LeaseChanges;
}): HostLease {
  const own = claim.ttlMs * OWN_SHARE;
  // both clocks: the monotonic one stands still while a laptop sleeps, the other one can be set back
  let until = { mono: performance.now() + own, wall: Date.now() + own };
  let state: 'held' | 'lapsed' | 'over' = 'held';
  let renewing = false;
  let renewAt = 0;
  const inTime = () => performance.now() < until.mono && Date.now() < until.wall;

  async function renew(): Promise<void> {
    const asked = { mono: performance.now() + own, wall: Date.now() + own };
    // a query that hangs must not prevent the next one
    const answer = await Promise.race([holdHost(db, claim), pause(own / 2, null)]).catch(() => null);
    if (answer === null || state === 'over') return;
    if (!answer) {
      state = 'over';
      clearInterval(timer);
      return on.taken();
    }
    until = asked;
    if (state === 'lapsed' && inTime()) {
      state = 'held';
      log.info({ host: claim.host }, 'this host has its lease again');
      on.regained();
    }
  }

  const timer = setInterval(() => {
    if (state === 'held' && !inTime()) {
      state = 'lapsed';
      log.warn(
        { host: claim.host },
        'the lease of this host could not be renewed: its containers are held until it is',
      );
      on.lapsed();
    }
    if (renewing || Date.now() < renewAt) return;
    renewing = true;
    renewAt = Date.now() + claim.ttlMs / RENEWALS;
    void renew().finally(() => {
      renewing = false;
    });
  }, LOOK_MS);

  return {
    held: () => state === 'held' && inTime(),
    async release() {
      clearInterval(timer);
      if (state === 'held') await releaseHost(db, claim).catch(() => {});
      state = 'over';
    },
  };
}
