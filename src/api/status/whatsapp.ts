import { renderSVG } from 'uqr';
import { z } from 'zod';
import type { DeliveryFigures, PairRequest, WhatsAppReport } from '../../contracts/whatsapp.ts';
import { phoneOf } from '../../domain/whatsapp/identity.ts';
import { readAccount, wish } from '../../store/whatsapp/account.ts';
import { deliveryFigures } from '../../store/whatsapp/sends.ts';
import { Reply } from '../http/endpoint.ts';
import { done, taken } from './answers.ts';
import { endpoint } from './endpoint.ts';
import { viewOf } from './whatsapp-view.ts';

/** Endpoints that change the WhatsApp account or show its QR. All need the admin token. */

const ACCOUNT = 'default';

type Fields<Record> = { [Name in keyof Record]-?: z.ZodType<Record[Name]> };
const count = () => z.int().nonnegative();
const time = () => z.iso.datetime().meta({ pattern: undefined }).nullable();

const report = z
  .object({
    state: z.enum(['initializing', 'qr_pending', 'authenticated', 'disconnected', 'error']),
    wanted: z.enum(['off', 'on', 'out']),
    qr: z.string().nullable().describe('Text of the QR to scan'),
    pairingCode: z.string().nullable().describe('To type on the phone'),
    lastError: z.string().nullable(),
    needs: z.enum(['pairing', 'person', 'lease', 'upgrade']).nullable().describe('Who must do something'),
    phone: z.string().nullable().describe('Digits of the linked number'),
    number: z.enum(['shared', 'dedicated']).nullable(),
    connectedAt: time(),
    phoneSeenAt: time(),
    sendsPausedUntil: time().describe('WhatsApp restricted what may be sent'),
    today: z
      .object({ queued: count(), sent: count(), delivered: count(), read: count(), failed: count() } satisfies Fields<DeliveryFigures>)
      .describe('Messages since midnight UTC'),
  } satisfies Fields<WhatsAppReport>)
  .meta({ id: 'WhatsAppReport' });

const pairRequest = z
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

const wished = taken('The wish is taken.');

export const getWhatsApp = endpoint({
  method: 'GET',
  path: '/api/whatsapp',
  summary: 'The account in full',
  answer: { schema: report, what: 'The account, and what was sent today.' },
  handle: async (_, { store: { db } }) => {
    const midnight = new Date(new Date().setUTCHours(0, 0, 0, 0));
    const [row, today] = await Promise.all([readAccount(db, ACCOUNT), deliveryFigures(db, { account: ACCOUNT }, midnight)]);
    return { ...viewOf(row), today };
  },
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
  handle: async ({ body: { phone = null, number } }, { store: { db } }) => {
    const row = await readAccount(db, ACCOUNT);
    const { state } = viewOf(row);
    const linked = row?.wanted === 'on' && state === 'authenticated' && (number === undefined || number === row.number_mode);
    // a second start joins the first, unless it asks for another way to pair
    const same = row?.wanted === 'on' && row.needs === null && state !== 'error' && row.pair_phone === phone && number === undefined;
    if (!linked && !same) await wish(db, ACCOUNT, { wanted: 'on', pairPhone: phone, numberMode: number });
    return done(linked ? 'WhatsApp is connected.' : 'WhatsApp is starting.');
  },
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
  handle: async (_, { store }) => {
    await wish(store.db, ACCOUNT, { wanted: 'off', pairPhone: null });
    return done('WhatsApp is stopping; it stays linked.');
  },
});

export const postLogout = endpoint({
  method: 'POST',
  path: '/api/logout',
  summary: 'Log out',
  answer: wished,
  handle: async (_, { store: { db } }) => {
    const row = await readAccount(db, ACCOUNT);
    if (row && (row.wanted !== 'off' || row.jid !== null)) await wish(db, ACCOUNT, { wanted: 'out', pairPhone: null });
    return done('WhatsApp is logging out.');
  },
});
