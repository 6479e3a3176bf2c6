import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { LeaseHolder } from '../channel.ts';

/** Where a lease is stored. Times are the database's. */
interface LeaseRow {
  /** Takes or renews it; false while another holder has it. `forceFrom`: a holder that is known to be dead. */
  hold(holder: string, ttlMs: number, forceFrom?: string): Promise<boolean>;
  /** gives it back, if this holder has it */
  drop(holder: string): Promise<void>;
  holder(): Promise<string | null>;
}

interface LeaseOptions {
  row: LeaseRow;
  /** what it is the lease of, in a line of the log */
  of: string;
  holder: LeaseHolder;
  log: Logger;
  ttlMs?: number;
  everyMs?: number;
  /** asked before each attempt; false ends the wait */
  able?: () => Promise<boolean>;
}

export interface Lease {
  /** aborted when the lease is lost; nothing may be sent or written from then on */
  readonly lost: AbortSignal;
  /** stops renewing, and gives the lease back */
  release(): Promise<void>;
}

/** How long a lease outlives its last renewal, and how often it is renewed. */
const TTL_MS = 10_000;
const EVERY_MS = 2_000;

/**
 * Waits for the lease of an account and keeps it: two connections of one account would disconnect each other for ever.
 * `onWait` is called once when somebody else has it. Null when `signal` was aborted first, or `able` returned false.
 */
export async function acquireLease(
  options: LeaseOptions,
  signal: AbortSignal,
  onWait: () => void | Promise<void>,
): Promise<Lease | null> {
  const { row, holder, ttlMs = TTL_MS, everyMs = EVERY_MS } = options;
  let told = false;
  while (!signal.aborted) {
    if (options.able && !(await options.able())) return null;
    const asked = performance.now();
    const got = await tryLease(row, holder, ttlMs).catch(() => null);
    if (got) return keep(options, asked);
    if (got === false && !told) {
      told = true;
      await onWait();
    }
    await pause(Math.min(1_000, everyMs), undefined, { signal }).catch(() => {});
  }
  return null;
}

async function tryLease(row: LeaseRow, holder: LeaseHolder, ttlMs: number): Promise<boolean> {
  if (await row.hold(holder.id, ttlMs)) return true;
  // there is no need to wait for a killed gateway of this machine
  const other = await row.holder();
  return other ? (await holder.isDead(other)) && (await row.hold(holder.id, ttlMs, other)) : false;
}

/**
 * @param renewedAt when the last successful renewal was requested, on the monotonic clock; the database's own time
 * began later
 */
function keep({ row, of, holder, log, ttlMs = TTL_MS, everyMs = EVERY_MS }: LeaseOptions, renewedAt: number): Lease {
  const lost = new AbortController();
  let until = renewedAt + ttlMs;
  let timer: NodeJS.Timeout | undefined;
  let renewing: Promise<void> = Promise.resolve();

  const lose = (why: string): void => {
    if (lost.signal.aborted) return;
    log.warn({ why }, `the lease of the ${of} is lost`);
    clearTimeout(expiry);
    clearTimeout(timer);
    lost.abort();
  };
  // a hanging renewal must not keep the socket beyond the end of the lease
  let expiry = setTimeout(() => lose('it could not be renewed in time'), ttlMs);
  const round = async (): Promise<void> => {
    const asked = performance.now();
    const held = await row.hold(holder.id, ttlMs).catch(() => null);
    if (lost.signal.aborted) return;
    if (held === false) return lose('another gateway has it');
    if (held) {
      until = asked + ttlMs;
      clearTimeout(expiry);
      expiry = setTimeout(() => lose('it could not be renewed in time'), Math.max(0, until - performance.now()));
    }
    timer = setTimeout(next, everyMs);
  };
  const next = (): void => {
    renewing = round();
  };
  timer = setTimeout(next, everyMs);

  return {
    lost: lost.signal,
    async release() {
      clearTimeout(timer);
      clearTimeout(expiry);
      const held = !lost.signal.aborted;
      lost.abort();
      await renewing;
      if (held) await row.drop(holder.id).catch(() => {});
    },
  };
}
