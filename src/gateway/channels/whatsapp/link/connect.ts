import { numberMode } from '../../../../domain/whatsapp/identity.ts';
import { phoneSeen, type WaAccount } from '../../../../store/whatsapp/account.ts';
import { storedContent } from '../../../../store/whatsapp/inbox.ts';
import type { Live, OnOpen } from '../live.ts';
import { createRatchet, type Ratchet } from '../ratchet/ratchet.ts';
import { attempt, type Ended } from './attempt.ts';
import type { HeldAccount } from './link-state.ts';
import type { PairingShow } from './pairing.ts';
import { startWatchdog } from './watchdog.ts';

const PHONE_SEEN_EVERY_MS = 600_000;

/** One connection, from its first byte to its close. */
export async function connect(held: HeldAccount, row: WaAccount, interrupt: AbortSignal): Promise<Ended> {
  const { link, baileys, auth } = held;
  const { deps, desired, reports } = link;
  const { db, account, config, log } = deps;
  const ratchet = createRatchet({
    baileys,
    account,
    stored: (key) => storedContent(db, key),
    me: () => ({ id: auth.creds.me?.id ?? '', lid: auth.creds.me?.lid ?? '' }),
  });
  const renew = new AbortController();
  const isNew = !auth.paired() || row.connected_at === null;
  const sawPhone = () => void phoneSeen(db, account, new Date()).catch(() => {});
  return await attempt({
    baileys,
    config,
    log,
    auth,
    ratchet,
    caches: link.caches,
    questions: deps.questions,
    version: held.version,
    account,
    phone: row.pair_phone,
    number: (jid) => numberMode(config, row.number_mode, jid),
    onOpen: [watchdog(held, ratchet, () => renew.abort()), ...deps.onOpen],
    interrupt: AbortSignal.any([interrupt, renew.signal]),
    wantsLogout: () => desired.row()?.wanted === 'out',
    shown: (shown) => void reports.tell(pairingNews(shown)),
    paired: () => void log.info('the phone has linked this device'),
    opened(live) {
      opened(held, live);
      if (isNew) sawPhone();
    },
    ownPhoneActed: onceIn(PHONE_SEEN_EVERY_MS, sawPhone),
  });
}

const pairingNews = ({ qr, code }: PairingShow) =>
  qr || code
    ? ({ state: 'qr_pending', qr, pairing_code: code, last_error: null } as const)
    : ({ state: 'initializing', qr, pairing_code: code } as const);

/** Detects a connection that is open but delivers nothing. */
const watchdog =
  ({ link }: HeldAccount, ratchet: Ratchet, reconnect: () => void): OnOpen =>
  ({ sock }) =>
    startWatchdog({
      health: ratchet.health,
      probe: async () => {
        await ratchet.probe();
        await sock.query({
          tag: 'iq',
          attrs: { to: 's.whatsapp.net', type: 'get', xmlns: 'w:p' },
          content: [{ tag: 'ping', attrs: {} }],
        });
      },
      reconnect,
      exit: link.deps.exit,
      log: link.deps.log,
      silence: link.silence,
      times: link.deps.times?.watchdog,
    });

/** Records that the account is connected. A version that was accepted after a refusal is used the next time too. */
function opened({ link, auth, version, versionTried }: HeldAccount, live: Live): void {
  link.live = live;
  live.closed.addEventListener('abort', () => {
    if (link.live === live) link.live = null;
  });
  void link.reports.tell({
    state: 'authenticated',
    qr: null,
    pairing_code: null,
    last_error: null,
    last_code: null,
    needs: null,
    blocked_until: null,
    jid: live.me.jid,
    lid: live.me.lid,
    name: auth.creds.me?.name ?? null,
    number_mode: live.number,
    connected_at: new Date(),
    ...(version && versionTried && { version }),
  });
  link.deps.log.info({ number: live.number }, 'connected to WhatsApp');
}

function onceIn(ms: number, act: () => void): () => void {
  let last = 0;
  return () => {
    if (Date.now() - last < ms) return;
    last = Date.now();
    act();
  };
}
