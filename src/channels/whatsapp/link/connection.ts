import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs, reactionTo } from '../../../domain/whatsapp/disconnect.ts';
import { numberMode } from '../../../domain/whatsapp/identity.ts';
import { phoneSeen, type WaAccount } from '../../../store/whatsapp/account.ts';
import { storedContent } from '../../../store/whatsapp/inbox.ts';
import type { LeaseHolder } from '../../channel.ts';
import type { CurrentLive, Live, OnOpen, WhatsAppDeps } from '../live.ts';
import { type AuthState, openAuthState } from '../ratchet/auth-state.ts';
import { type Sealer, WrongKey } from '../ratchet/encryption.ts';
import { createRatchet } from '../ratchet/ratchet.ts';
import { createNews } from './account-news.ts';
import { attempt, type Ended } from './attempt.ts';
import type { Baileys } from './baileys.ts';
import { watchRequests } from './desired-state.ts';
import { acquireLease, type Lease } from './lease.ts';
import { opensCredentials } from './own-key.ts';
import { type SocketQuestions, socketCaches } from './socket.ts';
import { announcedVersion, fetchNewerVersion } from './version.ts';
import { startWatchdog, type WatchdogTimes } from './watchdog.ts';

export interface ConnectionDeps extends WhatsAppDeps {
  baileys: () => Promise<Baileys>;
  holder: LeaseHolder;
  sealer: Sealer;
  questions: SocketQuestions;
  onOpen: readonly OnOpen[];
  /** messages were stored */
  onStored(): void;
  /** ends the process: the supervisor starts a sound one */
  exit(reason: string): void;
  /** shortened by tests; ms */
  times?: { pollMs?: number; leaseTtlMs?: number; leaseEveryMs?: number; watchdog?: Partial<WatchdogTimes> };
  random?: () => number;
}

export interface Connection {
  readonly live: CurrentLive;
  /** whether stored messages are this gateway's to bring into their conversations: it holds the account, or nobody does and nobody is to */
  receives(): boolean;
  /** closes the socket, lets what was sending finish, gives the lease back */
  stop(): Promise<void>;
}

/** Disconnect code with which WhatsApp asks for a new connection. */
const RESTART = 515;
const POLL_MS = 1_000;
const FAILED_MS = 10_000;
/** Somebody else connects with our credentials and without our lease: trying often would only throw the other out, again and again. */
const REPLACED_MS = 6 * 3_600_000;
const OUTDATED_MS = 24 * 3_600_000;
const BAD_SESSIONS = 5;

/**
 * Keeps the one connection of an account: waits until somebody wants it, holds the lease, connects, and reacts to every close as
 * the table of `domain/whatsapp/disconnect.ts` says. What it does and what it needs stands in the account's row.
 */
export function startConnection(deps: ConnectionDeps): Connection {
  const { db, config, log, account, times = {}, random = Math.random } = deps;
  const stopping = new AbortController();
  const requests = watchRequests(db, account, times.pollMs ?? POLL_MS);
  const caches = socketCaches();
  const silence = { reconnections: 0 };
  const ending = new Set<Promise<void>>();
  let live: Live | null = null;
  let held: Lease | null = null;
  /** our key does not open what is stored */
  let strange = false;
  const { tell, alert, stopFor, pairingRefused, loggedOut, told } = createNews(deps);

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const row = await requests.look().catch(() => null);
      if (!row || row.wanted === 'off' || row.needs === 'person') {
        if (row?.wanted === 'off' && row.state !== 'disconnected' && row.state !== 'error')
          await tell({ state: 'disconnected', qr: null, pairing_code: null, connected_at: null });
        await either(stopping.signal, requests.changed(), row ? 60_000 : (times.pollMs ?? POLL_MS));
        continue;
      }
      if (!(await able())) {
        await cannot(row);
        await either(stopping.signal, requests.changed(), FAILED_MS);
        continue;
      }
      strange = false;
      const lease = await acquireLease(
        { db, account, holder: deps.holder, log, ttlMs: times.leaseTtlMs, everyMs: times.leaseEveryMs, able },
        AbortSignal.any([stopping.signal, requests.changed()]),
        () => log.info('another gateway holds this WhatsApp account; waiting for its lease'),
      );
      if (!lease) continue;
      held = lease;
      try {
        await whileHeld(lease);
      } catch (error) {
        await tell({ state: 'error', last_error: (error as Error).message, qr: null, pairing_code: null });
        log.error({ reason: (error as Error).message }, 'WhatsApp cannot be used');
        await either(stopping.signal, requests.changed(), FAILED_MS);
      } finally {
        if (!lease.lost.aborted && stopping.signal.aborted) await tell({ state: 'disconnected', qr: null, pairing_code: null, connected_at: null });
        held = null;
        await lease.release();
      }
    }
  }

  /** A database that is away says nothing against it. */
  function able(): Promise<boolean> {
    return opensCredentials(db, account, deps.sealer).catch(() => true);
  }

  /** Said at once and not at a takeover. The account's row belongs to the gateway that can read the credentials, while there is one. */
  async function cannot(row: WaAccount): Promise<void> {
    const { message } = new WrongKey();
    if (!strange) log.error({ reason: message }, 'this gateway cannot stand by for WhatsApp');
    strange = true;
    if (row.lease_until && row.lease_until > new Date()) return;
    if (row.wanted === 'out') return loggedOut(row);
    await tell({ state: 'error', last_error: message, qr: null, pairing_code: null });
  }

  /** Connects again and again for as long as the lease is ours and nobody wants something else. */
  async function whileHeld(lease: Lease): Promise<void> {
    const baileys = await deps.baileys();
    const over = AbortSignal.any([stopping.signal, lease.lost]);
    let auth = await openAuth(baileys);
    let closes = 0;
    let version = announcedVersion(config.WA_VERSION, requests.row()?.version ?? null, baileys.DEFAULT_CONNECTION_CONFIG.version as [number, number, number]);
    let versionTried = false;

    while (!over.aborted) {
      const row = await requests.look().catch(() => requests.row());
      const changed = requests.changed();
      if (!row || row.wanted === 'off' || row.needs === 'person') return;
      if (row.wanted === 'out' && !auth.paired()) return loggedOut(row);
      // a pairing that was given up leaves nothing: the next one has keys of its own
      if (!auth.paired()) auth = await openAuth(baileys);
      if (row.blocked_until && row.blocked_until > new Date()) {
        await either(over, changed, Math.min(60_000, row.blocked_until.getTime() - Date.now()));
        continue;
      }
      await tell({ state: 'initializing', qr: null, pairing_code: null });
      const ended = await connect(baileys, auth, row, version, AbortSignal.any([over, changed]));
      if (over.aborted) return;
      if (row.wanted === 'out' || (ended.interrupted && requests.row()?.wanted === 'out' && ended.openForMs > 0)) return loggedOut(requests.row() ?? row);
      if (ended.interrupted) {
        closes = 0;
        continue;
      }
      if (ended.pairingRefused !== null) return pairingRefused(row, ended.pairingRefused);
      // What came through a connection proves that whatever failed before is over. A server that asks for a restart each time has proved nothing.
      closes = ended.worked && ended.code !== RESTART ? 1 : closes + 1;
      const reaction = await react(baileys, ended, closes);
      log.info({ code: ended.code, closes, reaction: reaction.kind, reason: ended.reason.slice(0, 120) }, 'the connection to WhatsApp was closed');
      if (reaction.kind === 'stop') {
        const until = reaction.untilMs ? new Date(Date.now() + reaction.untilMs) : null;
        await stopFor(row, ended, { ...reaction, until });
        if (until) continue;
        if (reaction.needs === 'lease') await either(over, changed, REPLACED_MS);
        else if (reaction.needs === 'upgrade') await either(over, changed, OUTDATED_MS);
        else return;
        continue;
      }
      await tell({
        state: auth.paired() ? 'disconnected' : 'initializing',
        last_error: ended.code === RESTART ? null : reaction.say,
        last_code: ended.code ?? null,
        connected_at: null,
      });
      if (ended.code === 500 && closes === BAD_SESSIONS) alert('bad-session', reaction.say);
      if (!reaction.immediately) await either(over, changed, backoffMs(closes, random, reaction.minimumMs, reaction.mostMs));
      // somebody asked for it now: what failed before does not count against them
      if (changed.aborted) closes = 0;
    }

    async function react(lib: Baileys, ended: Ended, consecutive: number) {
      const { code, expiresInMs, unreached, foreign, unscanned } = ended;
      const close = { code, paired: auth.paired(), consecutive, versionTried, expiresInMs, unreached, foreign, unscanned };
      if (ended.code !== 405 || versionTried) return reactionTo(close);
      versionTried = true;
      const newer = await fetchNewerVersion(lib, version, log);
      if (!newer) return reactionTo({ ...close, versionTried: true });
      version = newer;
      return reactionTo(close);
    }

    function connect(lib: Baileys, state: AuthState, row: WaAccount, announced: string | null, interrupt: AbortSignal): Promise<Ended> {
      const ratchet = createRatchet({
        baileys: lib,
        account,
        stored: (key) => storedContent(db, key),
        me: () => ({ id: state.creds.me?.id ?? '', lid: state.creds.me?.lid ?? '' }),
      });
      const renew = new AbortController();
      const isNew = !state.paired() || row.connected_at === null;
      const watch: OnOpen = ({ sock }) =>
        startWatchdog({
          health: ratchet.health,
          probe: async () => {
            await ratchet.probe();
            await sock.query({ tag: 'iq', attrs: { to: 's.whatsapp.net', type: 'get', xmlns: 'w:p' }, content: [{ tag: 'ping', attrs: {} }] });
          },
          reconnect: () => renew.abort(),
          exit: deps.exit,
          log,
          silence,
          times: times.watchdog,
        });
      return attempt({
        baileys: lib,
        config,
        log,
        auth: state,
        ratchet,
        caches,
        questions: deps.questions,
        version: announced,
        account,
        phone: row.pair_phone,
        number: (jid) => numberMode(config, row.number_mode, jid),
        onOpen: [watch, ...deps.onOpen],
        interrupt: AbortSignal.any([interrupt, renew.signal]),
        wantsLogout: () => requests.row()?.wanted === 'out',
        shown: ({ qr, code }) =>
          void tell({ state: qr || code ? 'qr_pending' : 'initializing', qr, pairing_code: code, ...((qr || code) && { last_error: null }) }),
        paired: () => void log.info('the phone has linked this device'),
        opened(opened) {
          live = opened;
          opened.closed.addEventListener('abort', () => {
            if (live === opened) live = null;
          });
          void tell({
            state: 'authenticated',
            qr: null,
            pairing_code: null,
            last_error: null,
            last_code: null,
            needs: null,
            blocked_until: null,
            jid: opened.me.jid,
            lid: opened.me.lid,
            name: state.creds.me?.name ?? null,
            number_mode: opened.number,
            connected_at: new Date(),
            ...(announced && versionTried && { version: announced }),
          });
          log.info({ number: opened.number }, 'connected to WhatsApp');
          if (isNew) void phoneSeen(db, account, new Date()).catch(() => {});
        },
        ownPhoneActed: onceIn(600_000, () => void phoneSeen(db, account, new Date()).catch(() => {})),
        ending(part) {
          ending.add(part);
          void part.finally(() => ending.delete(part));
        },
      });
    }
  }

  const openAuth = (baileys: Baileys): Promise<AuthState> =>
    openAuthState({
      db,
      account,
      sealer: deps.sealer,
      baileys,
      holder: deps.holder.id,
      fatal: (error) => deps.exit(`the WhatsApp keys could not be read or stored: ${error.message}`),
      onStored: deps.onStored,
    });

  const running = run().catch((error: Error) => deps.exit(`the WhatsApp connection failed: ${error.message}`));
  return {
    live: () => live,
    receives() {
      const row = requests.row();
      const resting = row !== null && (row.wanted === 'off' || row.needs === 'person') && row.lease_holder === null;
      return held ? !held.lost.aborted : resting;
    },
    async stop() {
      stopping.abort();
      await running;
      requests.stop();
      await Promise.all(ending);
      await told();
    },
  };
}

/** Resolves when one of the signals is aborted, or after `ms`. */
async function either(first: AbortSignal, second: AbortSignal, ms: number): Promise<void> {
  await pause(ms, undefined, { signal: AbortSignal.any([first, second]) }).catch(() => {});
}

function onceIn(ms: number, act: () => void): () => void {
  let last = 0;
  return () => {
    if (Date.now() - last < ms) return;
    last = Date.now();
    act();
  };
}
