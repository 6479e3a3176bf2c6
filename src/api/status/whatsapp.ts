import { renderSVG } from 'uqr';
import { z } from 'zod';
import { readAccount, wish } from '../../store/whatsapp/account.ts';
import { Reply } from '../http/endpoint.ts';
import { done, endpoint, taken } from './endpoint.ts';
import {
  ACCOUNT,
  connect,
  disconnect,
  logOut,
  pairRequest,
  reportOf,
  reportSchema,
  viewOf,
} from './whatsapp-account.ts';

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
