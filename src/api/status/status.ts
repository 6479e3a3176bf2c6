import type { Context } from 'koa';
import { z } from 'zod';
import { messagesSince } from '../../store/chats/messages/inbox.ts';
import { type NotificationCounts, notificationsSince } from '../../store/chats/messages/outbox.ts';
import type { Db } from '../../store/postgres/database.ts';
import { ping } from '../../store/postgres/health.ts';
import { readAccount } from '../../store/whatsapp/account.ts';
import { Reply } from '../http/endpoint.ts';
import { isAdmin, isOwnProgram } from './admin.ts';
import { endpoint } from './endpoint.ts';
import { viewOf } from './whatsapp.ts';

/** Endpoints that need no token and show nothing private. */

/** While the database is away nothing is known. */
const AWAY = {
  state: 'error' as const,
  qrCode: null,
  qrUrl: null,
  lastError: 'The database does not answer.',
  responseFormattingMetrics: { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 },
};
const NONE: NotificationCounts = { own: 0, reports: 0, superseded: 0 };

const count = z.int().nonnegative();
const notifications = z
  .object({
    total: count.describe('Messages beside answers: templateEphemeral + llmRewriteSuccess + templateFallback'),
    templateEphemeral: count.describe('Progress and notices, in our own words'),
    llmRewriteSuccess: count,
    templateFallback: count.describe('Reports of tasks and routines'),
    rewriteAttempts: count.describe('llmRewriteSuccess + templateFallback'),
    rewriteDisabled: count.describe('Every report: no model writes one again'),
    rewriteTimeouts: count,
    rewriteErrors: count,
    sanitizeRejects: count,
    duplicateSuppressions: count.describe('Progress that a newer one replaced before it was sent'),
  })
  .describe('Since the start')
  .meta({ id: 'NotificationMetrics' });

const status = z
  .object({
    state: z.enum(['initializing', 'qr_pending', 'authenticated', 'disconnected', 'error']),
    qrCode: z
      .string()
      .nullable()
      .describe('Only for programs of the same user of this machine and for holders of the admin token'),
    qrUrl: z.string().nullable(),
    uptime: count.describe('Seconds'),
    messageCount: count.describe('Since the start'),
    lastError: z.string().nullable(),
    version: z.string(),
    notificationMetrics: notifications,
    responseFormattingMetrics: z
      .object({ normalizedCount: count, chunkedCount: count, fallbackSplitCount: count })
      .describe('Since WhatsApp was first paired'),
  })
  .meta({ id: 'Status' });

export const getStatus = endpoint({
  method: 'GET',
  path: '/api/status',
  summary: 'State of WhatsApp and of this process',
  open: true,
  answer: { schema: status, what: 'The state; also while the database is away.' },
  handle: async ({ ctx }, { store, startedAt, version, adminToken }) => {
    const { db } = store;
    const known = await Promise.all([
      messagesSince(db, startedAt),
      notificationsSince(db, startedAt),
      whatsappOf(ctx, db, adminToken),
    ]).catch(() => null);
    const [messageCount, notified, whatsapp] = known ?? [0, NONE, AWAY];
    return {
      state: whatsapp.state,
      qrCode: whatsapp.qrCode,
      qrUrl: whatsapp.qrUrl,
      uptime: Math.floor((Date.now() - startedAt.getTime()) / 1000),
      messageCount,
      lastError: whatsapp.lastError,
      version,
      notificationMetrics: notificationMetrics(notified),
      responseFormattingMetrics: whatsapp.responseFormattingMetrics,
    };
  },
});

/**
 * Reports are written from records. So each would be rewritten, and none is: `rewriteDisabled` is the reason of every
 * fallback.
 */
const notificationMetrics = ({ own, reports, superseded }: NotificationCounts): z.infer<typeof notifications> => ({
  total: own + reports,
  templateEphemeral: own,
  llmRewriteSuccess: 0,
  templateFallback: reports,
  rewriteAttempts: reports,
  rewriteDisabled: reports,
  rewriteTimeouts: 0,
  rewriteErrors: 0,
  sanitizeRejects: 0,
  duplicateSuppressions: superseded,
});

const health = z.object({ healthy: z.boolean() });

export const getHealth = endpoint({
  method: 'GET',
  path: '/api/health',
  summary: 'Whether the database answers',
  open: true,
  answer: { schema: health, what: 'It does.' },
  refusals: { 503: { what: 'It does not.', schema: health } },
  handle: async (_, { store }) => {
    const healthy = await ping(store.db);
    return healthy ? { healthy } : new Reply(503, { healthy });
  },
});

/** The QR links a device to the account, so only programs of the same user and holders of the token see it. */
async function whatsappOf(ctx: Context, db: Db, adminToken: string) {
  const row = await readAccount(db, 'default');
  const { state, qr, lastError } = viewOf(row);
  const shown = qr !== null && (isAdmin(ctx, adminToken) || isOwnProgram(ctx));
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
