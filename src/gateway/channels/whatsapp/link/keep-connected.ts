import { english } from '../../../../domain/texts/say.ts';
import { DAY, HOUR } from '../../../../domain/time.ts';
import { backoffMs, reactionTo } from '../../../../domain/whatsapp/disconnect.ts';
import type { WaAccount } from '../../../../store/whatsapp/account.ts';
import type { Lease } from '../../shared/lease.ts';
import { announcedVersion, type Baileys, fetchNewerVersion } from '../library/baileys.ts';
import { type AuthState, openAuthState } from '../ratchet/auth-state.ts';
import type { Ended } from './attempt.ts';
import { connect } from './connect.ts';
import { either, type HeldAccount, isResting, type LinkState } from './link-state.ts';

type Reaction = ReturnType<typeof reactionTo>;

/** Disconnect code with which WhatsApp asks for a new connection. */
const RESTART = 515;
/**
 * Another program connects with our credentials and without our lease. Frequent attempts would only disconnect each
 * other.
 */
const REPLACED_MS = 6 * HOUR;
const OUTDATED_MS = DAY;
const BAD_SESSIONS = 5;

/** Connects again and again while we have the lease and no other request comes. */
export async function keepConnected(link: LinkState, lease: Lease): Promise<void> {
  const { desired, reports } = link;
  const held = await takeOver(link, lease);
  while (!held.over.aborted) {
    const row = await desired.look().catch(() => desired.row());
    const changed = desired.changed();
    if (!row || isResting(row)) return;
    if (row.wanted === 'out' && !held.auth.paired()) return reports.loggedOut(row);
    // an abandoned pairing leaves nothing; the next one has its own keys
    if (!held.auth.paired()) held.auth = await openAuth(link, held.baileys);
    if (row.blocked_until && row.blocked_until > new Date()) {
      await either(held.over, changed, Math.min(60_000, row.blocked_until.getTime() - Date.now()));
      continue;
    }
    await reports.tell({ state: 'initializing', qr: null, pairing_code: null });
    const ended = await connect(held, row, AbortSignal.any([held.over, changed]));
    if (held.over.aborted || !(await goesOn(held, row, ended, changed))) return;
  }
}

async function takeOver(link: LinkState, lease: Lease): Promise<HeldAccount> {
  const { config } = link.deps;
  const baileys = await link.deps.baileys();
  const over = AbortSignal.any([link.stopping.signal, lease.lost]);
  const auth = await openAuth(link, baileys);
  const bundled = baileys.DEFAULT_CONNECTION_CONFIG.version as [number, number, number];
  const version = announcedVersion(config.WA_VERSION, link.desired.row()?.version ?? null, bundled);
  return { link, baileys, over, auth, closes: 0, version, versionTried: false };
}

const openAuth = ({ deps }: LinkState, baileys: Baileys): Promise<AuthState> =>
  openAuthState({
    db: deps.db,
    account: deps.account,
    sealer: deps.sealer,
    baileys,
    holder: deps.holder.id,
    fatal: (error) => deps.exit(`the WhatsApp keys could not be read or stored: ${error.message}`),
    onStored: deps.onStored,
  });

/** Reacts to the end of a connection, and waits until the next one is due. False when there will be none. */
async function goesOn(held: HeldAccount, row: WaAccount, ended: Ended, changed: AbortSignal): Promise<boolean> {
  const { link, over } = held;
  const { desired, reports, deps } = link;
  if (row.wanted === 'out' || (ended.interrupted && desired.row()?.wanted === 'out' && ended.openForMs > 0)) {
    await held.auth.end();
    await reports.loggedOut(desired.row() ?? row);
    return false;
  }
  if (ended.interrupted) {
    held.closes = 0;
    return true;
  }
  if (ended.pairingRefused !== null) {
    await reports.pairingRefused(row, ended.pairingRefused);
    return false;
  }
  // A message that came through shows that earlier failures are over. A connection that ends with a request for a
  // restart shows nothing.
  held.closes = ended.worked && ended.code !== RESTART ? 1 : held.closes + 1;
  const reaction = await react(held, ended);
  const { code, reason } = ended;
  deps.log.info(
    { code, closes: held.closes, reaction: reaction.kind, reason: reason.slice(0, 120) },
    'the connection to WhatsApp was closed',
  );
  if (reaction.kind === 'stop') return await stopFor(held, row, ended, reaction, changed);
  await reports.tell({
    state: held.auth.paired() ? 'disconnected' : 'initializing',
    last_error: code === RESTART ? null : reaction.say(english),
    last_code: code ?? null,
    connected_at: null,
  });
  if (code === 500 && held.closes === BAD_SESSIONS) reports.alert('bad-session', reaction.say);
  if (!reaction.immediately)
    await either(
      over,
      changed,
      backoffMs(held.closes, deps.random ?? Math.random, reaction.minimumMs, reaction.mostMs),
    );
  // somebody asked for a connection now, so earlier failures do not count
  if (changed.aborted) held.closes = 0;
  return true;
}

/** The reaction to a close. A refused version is replaced by a newer one, once. */
async function react(held: HeldAccount, ended: Ended): Promise<Reaction> {
  const { code, expiresInMs, unreached, foreign, unscanned } = ended;
  const { versionTried } = held;
  const close = {
    code,
    paired: held.auth.paired(),
    consecutive: held.closes,
    versionTried,
    expiresInMs,
    unreached,
    foreign,
    unscanned,
  };
  if (code !== 405 || versionTried) return reactionTo(close);
  held.versionTried = true;
  const newer = await fetchNewerVersion(held.baileys, held.version, held.link.deps.log);
  if (!newer) return reactionTo({ ...close, versionTried: true });
  held.version = newer;
  return reactionTo(close);
}

/** Waits if waiting can help, and says what a person can do. False when only a person can help. */
async function stopFor(
  { link, auth, over }: HeldAccount,
  row: WaAccount,
  ended: Ended,
  reaction: Extract<Reaction, { kind: 'stop' }>,
  changed: AbortSignal,
): Promise<boolean> {
  const until = reaction.untilMs ? new Date(Date.now() + reaction.untilMs) : null;
  if (reaction.needs === 'pairing') await auth.end();
  await link.reports.stopFor(row, ended, { ...reaction, until });
  if (until) return true;
  if (reaction.needs === 'lease') await either(over, changed, REPLACED_MS);
  else if (reaction.needs === 'upgrade') await either(over, changed, OUTDATED_MS);
  else return false;
  return true;
}
