import type Router from '@koa/router';
import type { Context, Next } from 'koa';
import { renderSVG } from 'uqr';
import { z } from 'zod';
import type { WhatsAppReport, WhatsAppView } from '../../contracts/whatsapp.ts';
import { phoneOf } from '../../domain/whatsapp/identity.ts';
import type { Db } from '../../store/postgres/database.ts';
import { readAccount, type WaAccount, wish } from '../../store/whatsapp/account.ts';
import { deliveryFigures } from '../../store/whatsapp/sends.ts';
import { queryToken, sameSecret } from '../http/auth.ts';
import { parseBody, readBody } from '../http/body.ts';
import { sendJson } from '../http/reply.ts';

const ACCOUNT = 'default';
const NOT_PAIRED = 'WhatsApp is not paired yet; the terminal and HTTP channels work without it.';
const GATEWAY_AWAY = 'The gateway does not run at the moment; it connects by itself when it is back.';
/** A lease is renewed every two seconds; one that ended this long ago has no gateway behind it. */
const AWAY_MS = 5_000;

const pairRequest = z.object({
  phone: z
    .string()
    .refine((text) => phoneOf(text) !== null, 'phone must be a number in international form, such as +49 170 1234567')
    .transform((text) => phoneOf(text))
    .nullish(),
  number: z.enum(['shared', 'dedicated']).optional(),
});

/** The account as the row has it, corrected where the gateway that wrote it is gone. */
export function viewOf(row: WaAccount | null, now = Date.now()): WhatsAppView {
  if (!row) {
    const none = { qr: null, pairingCode: null, needs: null, phone: null, number: null, connectedAt: null, phoneSeenAt: null, sendsPausedUntil: null };
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

async function reportOf(db: Db): Promise<WhatsAppReport> {
  const midnight = new Date(new Date().setUTCHours(0, 0, 0, 0));
  const [row, today] = await Promise.all([readAccount(db, ACCOUNT), deliveryFigures(db, { account: ACCOUNT }, midnight)]);
  return { ...viewOf(row), today };
}

/** What `GET /api/status` tells of WhatsApp. The QR links a device to the account, so only this machine and holders of the token see it. */
export async function statusOf(ctx: Context, db: Db, adminToken: string) {
  const row = await readAccount(db, ACCOUNT);
  const { state, qr, lastError } = viewOf(row);
  const shown = qr !== null && (isAdmin(ctx, adminToken) || isOwnMachine(ctx));
  return {
    state,
    qrCode: shown ? qr : null,
    qrUrl: qr !== null ? `${ctx.protocol}://${ctx.host}/api/whatsapp/qr.svg` : null,
    lastError,
    responseFormattingMetrics: {
      normalizedCount: row?.normalized_count ?? 0,
      chunkedCount: row?.chunked_count ?? 0,
      fallbackSplitCount: row?.fallback_split_count ?? 0,
    },
  };
}

/** Endpoints that act on the account or show its QR; all need the admin token. */
export function whatsappRoutes(router: Router, { db, adminToken }: { db: Db; adminToken: string }): void {
  const admin = async (ctx: Context, next: Next) => (isAdmin(ctx, adminToken) ? await next() : refuse(ctx));

  router.get('/api/whatsapp', admin, async (ctx: Context) => sendJson(ctx, 200, await reportOf(db)));

  router.get('/api/whatsapp/qr.svg', admin, async (ctx: Context) => {
    const { qr } = viewOf(await readAccount(db, ACCOUNT));
    ctx.set('Cache-Control', 'no-store');
    if (qr === null) return sendJson(ctx, 404, { error: 'There is no QR to scan now.' });
    ctx.status = 200;
    ctx.set('Content-Type', 'image/svg+xml');
    ctx.body = renderSVG(qr, { ecc: 'M', border: 4 });
  });

  router.post('/api/whatsapp/start', admin, async (ctx: Context) => {
    const bytes = await readBody(ctx.req);
    const { phone = null, number } = bytes.length > 0 ? parseBody(bytes, { name: 'PairRequest', schema: pairRequest }) : {};
    const row = await readAccount(db, ACCOUNT);
    const { state } = viewOf(row);
    const linked = row?.wanted === 'on' && state === 'authenticated' && (number === undefined || number === row.number_mode);
    // a second start joins the first, unless it asks for another way to pair
    const same = row?.wanted === 'on' && row.needs === null && state !== 'error' && row.pair_phone === phone && number === undefined;
    if (!linked && !same) await wish(db, ACCOUNT, { wanted: 'on', pairPhone: phone, numberMode: number });
    sendJson(ctx, 200, { success: true, message: linked ? 'WhatsApp is connected.' : 'WhatsApp is starting.' });
  });

  router.post('/api/whatsapp/restart', admin, async (ctx: Context) => {
    await wish(db, ACCOUNT, { wanted: 'on', pairPhone: null });
    sendJson(ctx, 200, { success: true, message: 'WhatsApp is restarting.' });
  });

  router.post('/api/whatsapp/stop', admin, async (ctx: Context) => {
    await wish(db, ACCOUNT, { wanted: 'off', pairPhone: null });
    sendJson(ctx, 200, { success: true, message: 'WhatsApp is stopping; it stays linked.' });
  });

  router.post('/api/logout', admin, async (ctx: Context) => {
    const row = await readAccount(db, ACCOUNT);
    if (row && (row.wanted !== 'off' || row.jid !== null)) await wish(db, ACCOUNT, { wanted: 'out', pairPhone: null });
    sendJson(ctx, 200, { success: true, message: 'WhatsApp is logging out.' });
  });
}

function refuse(ctx: Context): void {
  ctx.set('WWW-Authenticate', 'Bearer');
  sendJson(ctx, 401, { success: false, message: 'Unauthorized', error: 'Unauthorized' });
}

function isAdmin(ctx: Context, token: string): boolean {
  const header = ctx.get('authorization');
  const shown = header.startsWith('Bearer ') ? header.slice('Bearer '.length) : queryToken(ctx.req.url ?? '');
  return shown !== undefined && sameSecret(shown, token);
}

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/** A program of this machine, talking to us directly: not a proxy, and not a page whose name was made to resolve to here. */
function isOwnMachine(ctx: Context): boolean {
  const forwarded = ctx.get('x-forwarded-for') || ctx.get('forwarded') || ctx.get('via') || ctx.get('x-real-ip');
  return LOOPBACK.has(ctx.req.socket.remoteAddress ?? '') && !forwarded && /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(ctx.get('host'));
}
