import { renderSVG } from 'uqr';
import { z } from 'zod';
import type { DeliveryFigures, PairRequest, WhatsAppReport, WhatsAppView } from '../../contracts/whatsapp.ts';
import { phoneOf } from '../../domain/whatsapp/identity.ts';
import type { Db } from '../../store/postgres/database.ts';
import { readAccount, type WaAccount, wish } from '../../store/whatsapp/account.ts';
import { deliveryFigures } from '../../store/whatsapp/sends.ts';
import { count, type Fields, Reply, time } from '../http/endpoint.ts';
import { done, endpoint, taken } from './endpoint.ts';

const NOT_PAIRED = 'WhatsApp is not paired yet; the terminal and HTTP channels work without it.';
const GATEWAY_AWAY = 'The gateway does not run at the moment; it connects by itself when it is back.';
/** A lease is renewed every two seconds. If one ended this long ago, its gateway is gone. */
const AWAY_MS = 5_000;

/** The account as stored, corrected when the gateway that wrote it is gone. */
export function viewOf(row: WaAccount | null, now = Date.now()): WhatsAppView {
  if (!row) {
    const none = {
      qr: null,
      pairingCode: null,
      needs: null,
      phone: null,
      number: null,
      connectedAt: null,
      phoneSeenAt: null,
      sendsPausedUntil: null,
    };
    return { state: 'disconnected', wanted: 'off', lastError: NOT_PAIRED, ...none };
  }
  const busy = row.state === 'authenticated' || row.state === 'qr_pending';
  const away = busy && (row.lease_until === null || row.lease_until.getTime() + AWAY_MS < now);
  const pausedUntil = row.sends_paused_until && row.sends_paused_until.getTime() > now ? row.sends_paused_until : null;
  const paused = pausedUntil && row.sends_paused_why;
  const state = away ? (row.wanted === 'off' ? 'disconnected' : 'initializing') : row.state;
  return {
    state,
    wanted: row.wanted,
    qr: state === 'qr_pending' ? row.qr : null,
    pairingCode: state === 'qr_pending' ? row.pairing_code : null,
    lastError: away ? GATEWAY_AWAY : (row.last_error ?? paused ?? (row.jid || row.wanted === 'on' ? null : NOT_PAIRED)),
    needs: row.needs as WhatsAppView['needs'],
    phone: row.jid?.split('@')[0] ?? null,
    number: row.number_mode,
    connectedAt: row.connected_at?.toISOString() ?? null,
    phoneSeenAt: row.phone_seen_at?.toISOString() ?? null,
    sendsPausedUntil: pausedUntil?.toISOString() ?? null,
  };
}

/** The WhatsApp account as both ports show it, and what can be asked of it. */

export const ACCOUNT = 'default';

export const reportFields = {
  state: z.enum(['initializing', 'qr_pending', 'authenticated', 'disconnected', 'error']),
  wanted: z.enum(['off', 'on', 'out']),
  qr: z.string().nullable().describe('Text of the QR to scan'),
  pairingCode: z.string().nullable().describe('To type on the phone'),
  lastError: z.string().nullable(),
  needs: z.enum(['pairing', 'person', 'lease', 'upgrade']).nullable().describe('Who must do something'),
  phone: z.string().nullable().describe('Digits of the linked number'),
  number: z.enum(['shared', 'dedicated']).nullable(),
  connectedAt: time().nullable(),
  phoneSeenAt: time().nullable(),
  sendsPausedUntil: time().nullable().describe('WhatsApp restricted what may be sent'),
  today: z
    .object({
      queued: count(),
      sent: count(),
      delivered: count(),
      read: count(),
      failed: count(),
    } satisfies Fields<DeliveryFigures>)
    .describe('Messages since midnight UTC'),
} satisfies Fields<WhatsAppReport>;

const reportSchema = z.object(reportFields).meta({ id: 'WhatsAppReport' });

export const pairRequest = z
  .object({
    phone: z
      .string()
      .refine((text) => phoneOf(text) !== null, 'phone must be a number in international form, such as +49 170 1234567')
      .transform((text) => phoneOf(text))
      .nullish()
      .describe('For a pairing code in place of a QR'),
    number: z.enum(['shared', 'dedicated']).optional(),
  } satisfies { [Name in keyof PairRequest]-?: z.ZodType })
  .meta({ id: 'PairRequest', examples: [{}, { phone: '+49 170 1234567', number: 'shared' }] });

export async function reportOf(db: Db): Promise<WhatsAppReport> {
  const midnight = new Date(new Date().setUTCHours(0, 0, 0, 0));
  const [row, today] = await Promise.all([
    readAccount(db, ACCOUNT),
    deliveryFigures(db, { account: ACCOUNT }, midnight),
  ]);
  return { ...viewOf(row), today };
}

/** Connects, and links first where that is needed. Returns what is told. */
export async function connect(db: Db, { phone = null, number }: z.output<typeof pairRequest>): Promise<string> {
  const row = await readAccount(db, ACCOUNT);
  const { state } = viewOf(row);
  const linked =
    row?.wanted === 'on' && state === 'authenticated' && (number === undefined || number === row.number_mode);
  // a second start joins the first, unless it asks for another way to pair
  const same =
    row?.wanted === 'on' && row.needs === null && state !== 'error' && row.pair_phone === phone && number === undefined;
  if (!linked && !same) await wish(db, ACCOUNT, { wanted: 'on', pairPhone: phone, numberMode: number });
  return linked ? 'WhatsApp is connected.' : 'WhatsApp is starting.';
}

export async function disconnect(db: Db): Promise<string> {
  await wish(db, ACCOUNT, { wanted: 'off', pairPhone: null });
  return 'WhatsApp is stopping; it stays linked.';
}

export async function logOut(db: Db): Promise<string> {
  const row = await readAccount(db, ACCOUNT);
  if (row && (row.wanted !== 'off' || row.jid !== null)) await wish(db, ACCOUNT, { wanted: 'out', pairPhone: null });
  return 'WhatsApp is logging out.';
}

/** Endpoints that change the WhatsApp account or show its QR. All need the admin token. */

const wished = taken('The wish is taken.');

export const getWhatsApp = endpoint({
  method: 'GET',
  path: '/api/whatsapp',
  summary: 'The account in full',
  answer: { schema: reportSchema, what: 'The account, and what was sent today.' },
  handle: async (_, { store: { db } }) => await reportOf(db),
});

export const getQr = endpoint({
  method: 'GET',
  path: '/api/whatsapp/qr.svg',
  summary: 'The QR to scan',
  answer: { written: { type: 'image/svg+xml' }, what: 'A picture.' },
  refusals: { 404: { what: 'There is no QR to scan now.', schema: z.object({ error: z.string() }) } },
  handle: async ({ ctx }, { store }) => {
    const { qr } = viewOf(await readAccount(store.db, ACCOUNT));
    ctx.set('Cache-Control', 'no-store');
    if (qr === null) return new Reply(404, { error: 'There is no QR to scan now.' });
    ctx.status = 200;
    ctx.set('Content-Type', 'image/svg+xml');
    ctx.body = renderSVG(qr, { ecc: 'M', border: 4 });
  },
});

export const postStart = endpoint({
  method: 'POST',
  path: '/api/whatsapp/start',
  summary: 'Connect, and link first where that is needed',
  body: pairRequest,
  bodyOptional: true,
  answer: wished,
  handle: async ({ body }, { store: { db } }) => done(await connect(db, body)),
});

export const postRestart = endpoint({
  method: 'POST',
  path: '/api/whatsapp/restart',
  summary: 'Connect again, with a new QR when it is not linked',
  answer: wished,
  handle: async (_, { store }) => {
    await wish(store.db, ACCOUNT, { wanted: 'on', pairPhone: null });
    return done('WhatsApp is restarting.');
  },
});

export const postStop = endpoint({
  method: 'POST',
  path: '/api/whatsapp/stop',
  summary: 'Disconnect and stay linked',
  answer: wished,
  handle: async (_, { store: { db } }) => done(await disconnect(db)),
});

export const postLogout = endpoint({
  method: 'POST',
  path: '/api/logout',
  summary: 'Log out',
  answer: wished,
  handle: async (_, { store: { db } }) => done(await logOut(db)),
});
