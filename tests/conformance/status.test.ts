import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { write } from '../../src/gateway/channels/whatsapp/outbound/compose.ts';
import { dropOutgoing, recordProgress } from '../../src/store/chats/messages/outbox.ts';
import { recordNotice } from '../../src/store/turns/complete-turn.ts';
import { report, wish } from '../../src/store/whatsapp/account.ts';
import { addSends } from '../../src/store/whatsapp/sends.ts';
import { until } from '../support/until.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

/** What the contract says about state and health, and the figures of the original with their rules. */

const ADMIN = 'admin-status';
let api: ApiStack;
beforeAll(async () => {
  api = await startApi({ token: 'tok-status', adminToken: ADMIN, model: 'm', corsOrigins: 'https://app.example.com' });
}, 120_000);
afterAll(() => api?.close());

const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
  send(api.statusPort, method, path, headers, null);
const status = async () => JSON.parse((await ask('GET', '/api/status')).body);

it('GET /api/status needs no token and has every field of the contract', async () => {
  expect(await status()).toEqual({
    state: 'disconnected',
    qrCode: null,
    qrUrl: null,
    uptime: expect.any(Number),
    messageCount: 0,
    lastError: expect.stringContaining('not paired'),
    version: '0.0.0',
    notificationMetrics: {
      total: 0,
      templateEphemeral: 0,
      llmRewriteSuccess: 0,
      templateFallback: 0,
      rewriteAttempts: 0,
      rewriteDisabled: 0,
      rewriteTimeouts: 0,
      rewriteErrors: 0,
      sanitizeRejects: 0,
      duplicateSuppressions: 0,
    },
    responseFormattingMetrics: { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 },
  });
});

it('GET /api/health needs no token and answers { healthy: true }', async () => {
  const { status, headers, body } = await ask('GET', '/api/health');
  expect([status, headers['content-type'], body]).toEqual([200, 'application/json', '{"healthy":true}']);
});

it('messageCount counts the messages of people', async () => {
  const headers = { Authorization: 'Bearer tok-status', 'Content-Type': 'application/json' };
  const { id } = JSON.parse((await send(api.port, 'POST', '/v1/threads', headers, '{}')).body);
  const before = (await status()).messageCount;
  await send(api.port, 'POST', `/v1/threads/${id}/messages`, headers, JSON.stringify({ text: 'status' }));
  expect((await status()).messageCount).toBe(before + 1);
});

describe('the state of WhatsApp', () => {
  const lease = () => new Date(Date.now() + 60_000);
  const account = (fields: Parameters<typeof report>[2], until: Date | null = lease()) =>
    Promise.all([
      report(api.store.db, 'default', fields),
      api.store.db.updateTable('wa_accounts').set({ lease_until: until }).execute(),
    ]);
  beforeAll(() => wish(api.store.db, 'default', { wanted: 'on' }));
  afterAll(() => api.store.db.deleteFrom('wa_accounts').execute());

  it('state is one of the five words of the contract', async () => {
    for (const state of ['initializing', 'qr_pending', 'authenticated', 'disconnected', 'error'] as const) {
      await account({ state, last_error: state === 'error' ? 'The phone is gone.' : null });
      expect(await status()).toMatchObject({ state, lastError: state === 'error' ? 'The phone is gone.' : null });
    }
  });

  it('qrCode and qrUrl are there while a QR waits to be scanned, and at no other time', async () => {
    await account({ state: 'qr_pending', qr: '2@text' });
    const { qrCode, qrUrl } = await status();
    expect([qrCode, qrUrl]).toEqual(['2@text', expect.stringMatching(/\/api\/whatsapp\/qr\.svg$/)]);
    for (const state of ['initializing', 'authenticated', 'disconnected', 'error'] as const) {
      await account({ state });
      expect(await status()).toMatchObject({ qrCode: null, qrUrl: null });
    }
  });

  it('start, restart and logout say what is wanted of WhatsApp', async () => {
    for (const [path, wanted] of [
      ['/api/whatsapp/start', 'on'],
      ['/api/whatsapp/restart', 'on'],
      ['/api/logout', 'out'],
    ] as const) {
      await wish(api.store.db, 'default', { wanted: 'off' });
      await account({ state: 'disconnected', jid: '15551234567@s.whatsapp.net' });
      const { request: before } = await api.store.db
        .selectFrom('wa_accounts')
        .select('request')
        .executeTakeFirstOrThrow();
      const answer = await ask('POST', path, { Authorization: `Bearer ${ADMIN}` });
      expect([path, answer.status, JSON.parse(answer.body).success]).toEqual([path, 200, true]);
      const row = await api.store.db.selectFrom('wa_accounts').select(['wanted', 'request']).executeTakeFirstOrThrow();
      expect([path, row.wanted, row.request > before]).toEqual([path, wanted, true]);
    }
  });
});

it('uptime counts seconds, and goes on', async () => {
  const first = (await status()).uptime;
  expect(Number.isInteger(first)).toBe(true);
  expect(await until('a second has passed', async () => (await status()).uptime > first, 10_000)).toBe(true);
});

describe('notificationMetrics', () => {
  const chat = {
    id: 'whatsapp/metrics',
    channel: 'whatsapp' as const,
    address: '15551234567@s.whatsapp.net',
    workflow_id: 'chat/whatsapp/metrics',
  };
  const progress = (text: string) =>
    recordProgress(api.store.db, { chatId: chat.id, threadId: 'thr_metrics', of: 'tsk_metrics', text });

  it('count each message beside answers where it is written, by the rules of the original', async () => {
    const { db } = api.store;
    await db
      .insertInto('chats')
      .values({ ...chat, autonomy: 'cautious' })
      .execute();
    const before = (await status()).notificationMetrics;
    await recordNotice(db, { chatId: chat.id, outboxId: 'out_started', text: 'Task tsk_1 has begun.', kind: 'notice' });
    const first = await progress('1 min: reading');
    await recordNotice(db, { chatId: chat.id, outboxId: 'out_done', text: 'Task tsk_1 is done.', kind: 'result' });
    // a repeated attempt writes nothing again
    await recordNotice(db, { chatId: chat.id, outboxId: 'out_done', text: 'Task tsk_1 is done.', kind: 'result' });
    await dropOutgoing(db, first!.outboxId, 'a newer report or the end of its turn came first');
    const after = (await status()).notificationMetrics;
    expect(after).toEqual({
      ...before,
      total: before.total + 3,
      templateEphemeral: before.templateEphemeral + 2,
      templateFallback: before.templateFallback + 1,
      rewriteAttempts: before.rewriteAttempts + 1,
      rewriteDisabled: before.rewriteDisabled + 1,
      duplicateSuppressions: before.duplicateSuppressions + 1,
    });
  });

  it('hold the three equations', async () => {
    const { db } = api.store;
    for (const key of ['a', 'b', 'c'])
      await recordNotice(db, {
        chatId: chat.id,
        outboxId: `out_${key}`,
        text: key,
        kind: key === 'a' ? 'notice' : 'result',
      });
    const m = (await status()).notificationMetrics;
    expect(m.total).toBeGreaterThan(0);
    expect(m.total).toBe(m.templateEphemeral + m.llmRewriteSuccess + m.templateFallback);
    expect(m.rewriteAttempts).toBe(m.llmRewriteSuccess + m.templateFallback);
    expect(m.templateFallback).toBe(m.rewriteDisabled + m.rewriteTimeouts + m.rewriteErrors + m.sanitizeRejects);
  });
});

it('responseFormattingMetrics count what formatting did, once for each reply', async () => {
  const { db } = api.store;
  await wish(db, 'default', { wanted: 'off', pairPhone: null });
  const replies = { plain: 'Done.', bold: '**Done.**', long: `${'word '.repeat(60).trim()}\n\n${'x'.repeat(900)}` };
  for (const [key, body] of Object.entries(replies)) {
    await recordNotice(db, { chatId: 'whatsapp/metrics', outboxId: `out_${key}`, text: body, kind: 'notice' });
    const { parts, counters } = write({
      row: { kind: 'notice', body, question: null },
      ageMs: 0,
      textLimit: 400,
      polls: false,
    });
    const sends = parts.map((_, part) => ({
      messageId: `${key}-${part}`,
      part,
      jid: 'x',
      content: Buffer.alloc(0),
      questionId: null,
      edits: null,
    }));
    // the second is a repeated attempt
    for (let attempt = 0; attempt < 2; attempt++) await addSends(db, 'default', `out_${key}`, sends, counters);
  }
  const { normalizedCount, chunkedCount, fallbackSplitCount } = (await status()).responseFormattingMetrics;
  expect([normalizedCount, chunkedCount]).toEqual([1, 1]);
  expect(fallbackSplitCount).toBeGreaterThan(0);
});

describe('defect 39 of the original: an open admin API', () => {
  const ADMIN_ONLY = [
    ['POST', '/api/logout'],
    ['POST', '/api/whatsapp/start'],
    ['POST', '/api/whatsapp/restart'],
    ['POST', '/api/config/reload'],
    ['GET', '/api/sessions'],
  ] as const;

  it.each(ADMIN_ONLY)('defect 39: %s %s answers 401 without a token and 403 with a wrong one', async (method, path) => {
    const without = await ask(method, path);
    expect([without.status, without.headers['www-authenticate'], JSON.parse(without.body).success]).toEqual([
      401,
      'Bearer',
      false,
    ]);
    for (const token of ['wrong', `${ADMIN}x`, ADMIN.slice(1), 'undefined']) {
      const wrong = await ask(method, path, { Authorization: `Bearer ${token}` });
      expect([wrong.status, JSON.parse(wrong.body)]).toMatchObject([403, { success: false }]);
    }
    for (const header of [`Basic ${ADMIN}`, ADMIN, 'Bearer', `bearer${ADMIN}`])
      expect((await ask(method, path, { Authorization: header })).status).toBe(401);
  });

  it('defect 39: lets no page of another origin read anything', async () => {
    for (const origin of ['https://attacker.example', 'https://app.example.com', 'http://localhost:3000', 'null']) {
      for (const [method, path] of [
        ['GET', '/api/status'],
        ['GET', '/api/health'],
        ['GET', '/openapi.json'],
        ...ADMIN_ONLY,
      ] as const) {
        const { headers } = await ask(method, path, { Origin: origin, Authorization: `Bearer ${ADMIN}` });
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
      expect(
        (await ask('OPTIONS', '/api/sessions', { Origin: origin, 'Access-Control-Request-Method': 'GET' })).headers[
          'access-control-allow-origin'
        ],
      ).toBeUndefined();
    }
  });
});

it('an unknown path is 404 with an error, a wrong method 405 with the right ones', async () => {
  expect(await ask('GET', '/api/nothing')).toMatchObject({ status: 404, body: '{"error":"Not found"}' });
  expect(await ask('PUT', '/api/sessions')).toMatchObject({ status: 405, headers: { allow: 'GET,HEAD' } });
  expect(await ask('PUT', '/api/sessions/x')).toMatchObject({ status: 405, headers: { allow: 'DELETE,GET,HEAD' } });
});
