import { setTimeout as pause } from 'node:timers/promises';
import type { Sealer } from '../../../../adapters/encryption.ts';
import type { WaAccount } from '../../../../store/whatsapp/account.ts';
import type { LeaseHolder } from '../../channel.ts';
import type { Baileys } from '../library/baileys.ts';
import type { Live, OnOpen, WhatsAppDeps } from '../live.ts';
import type { AuthState } from '../ratchet/auth-state.ts';
import { type DesiredState, watchDesiredState } from './desired-state.ts';
import type { Lease } from './lease.ts';
import { AccountReports } from './reports.ts';
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
