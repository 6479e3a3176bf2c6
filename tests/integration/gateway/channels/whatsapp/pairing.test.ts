import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { roleLog, startTestApp, type TestApp } from '../../../../support/app.ts';
import { until } from '../../../../support/until.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../../../../support/whatsapp/fixture.ts';

const ENTRY = fileURLToPath(new URL('../../../../../bin/fetch.js', import.meta.url));
const TOKEN = 'admin-of-the-test';
let fixture: WhatsAppFixture;
let app: TestApp;

beforeAll(async () => {
  fixture = await startWhatsAppFixture();
  app = await startTestApp({ ...fixture.env, ADMIN_TOKEN: TOKEN, WHATSAPP_PACE_MS: '0' });
});
afterAll(async () => {
  await app?.close();
  await fixture?.close();
});

const ask = async (
  method: string,
  path: string,
  token: string | null = TOKEN,
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${app.statusUrl}${path}`, {
    method,
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
  });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: text.startsWith('{') ? JSON.parse(text) : text,
  };
};
const status = async () => (await ask('GET', '/api/status', null)).body;
const stateIs = (state: string) =>
  until(`the state is ${state}`, async () => (await status()).state === state && (await status()), 30_000);

/** The command as a person runs it; `output` grows. */
function command(args: string[]): { child: ChildProcess; output(): string; ended: Promise<number | null> } {
  let output = '';
  const env = {
    ...process.env,
    FETCH_HOME: app.home,
    FETCH_STATUS_PORT: new URL(app.statusUrl).port,
    ADMIN_TOKEN: TOKEN,
  };
  const child = spawn(process.execPath, [ENTRY, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, output: () => output, ended };
}

describe('WhatsApp in a running instance', () => {
  it('is optional: nothing is linked, and everything else works', async () => {
    expect(await status()).toMatchObject({
      state: 'disconnected',
      qrCode: null,
      qrUrl: null,
      lastError: expect.stringContaining('not paired'),
    });
    expect(fixture.connections).toHaveLength(0);
  });

  it.each([
    ['POST', '/api/whatsapp/start'],
    ['POST', '/api/whatsapp/restart'],
    ['POST', '/api/logout'],
    ['GET', '/api/whatsapp'],
    ['GET', '/api/whatsapp/qr.svg'],
  ])('%s %s needs the admin token', async (method, path) => {
    expect(await ask(method, path, null)).toMatchObject({
      status: 401,
      body: { success: false, message: 'Unauthorized' },
    });
    for (const token of ['wrong', 'admin'])
      expect(await ask(method, path, token)).toMatchObject({
        status: 403,
        body: { success: false, message: 'Forbidden' },
      });
    expect((await status()).state).toBe('disconnected');
  });

  it('defect 40: shows its QR to this machine, and its picture to those who have the token', async () => {
    expect(await ask('POST', '/api/whatsapp/start')).toMatchObject({ status: 200, body: { success: true } });
    const { qrCode, qrUrl } = await stateIs('qr_pending');
    expect(qrCode).toContain('linked_devices#');
    expect(qrUrl).toBe(`${app.statusUrl}/api/whatsapp/qr.svg`);
    expect(await ask('GET', '/api/whatsapp/qr.svg')).toMatchObject({
      status: 200,
      type: 'image/svg+xml',
      body: expect.stringContaining('<svg'),
    });
    expect(await ask('GET', `/api/whatsapp/qr.svg?token=${TOKEN}`, null)).toMatchObject({ status: 200 });
  });

  it('hides its QR from proxies and from pages that only pretend to be this machine', async () => {
    for (const headers of [{ 'x-forwarded-for': '203.0.113.9' }, { via: '1.1 proxy' }] as Record<string, string>[]) {
      const { body } = await ask('GET', '/api/status', null, headers);
      expect([body.state, body.qrCode]).toEqual(['qr_pending', null]);
    }
  });

  it('is shown by fetch pair, which ends when the phone has scanned it', async () => {
    const pair = command(['pair']);
    await until('the QR is on the screen', () => pair.output().includes('Linked devices'), 20_000);
    expect(pair.output()).toMatch(/[▀▄█]/);
    await fixture.phone.scan((await status()).qrCode);
    expect(await pair.ended).toBe(0);
    expect(pair.output()).toContain('WhatsApp is linked: +15550001111');
    expect(await status()).toMatchObject({ state: 'authenticated', qrCode: null, qrUrl: null, lastError: null });
  });

  it('answers what its owner writes to it', async () => {
    const { id } = await fixture.phone.selfChat('SCRIPT:[{"say":"hello from the model"}]');
    await until(
      'the answer is on the phone',
      () => fixture.phone.received.some((message) => message.text?.includes('hello from the model')),
      30_000,
    );
    expect(fixture.ledger.receipts.some(({ stanza }) => stanza.attrs.id === id)).toBe(true);
    expect(fixture.ledger.undecryptable).toEqual([]);
  });

  it('connects by itself after its gateway was killed, without waiting for the old lease', async () => {
    const before = fixture.ledger.logins.length;
    app.kill('gateway');
    await until('it logged in again', () => fixture.ledger.logins.length > before, 20_000);
    await stateIs('authenticated');
    expect(roleLog(app, 'gateway')).not.toContain('waiting for its lease');
  });

  it('defect 1: connects by itself after the whole instance was restarted', async () => {
    await app.stop();
    await app.start();
    expect((await stateIs('authenticated')).qrCode).toBeNull();
  });

  it('keeps its credentials encrypted, with a key that only this user can read', async () => {
    const file = join(app.home, 'encryption-key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8').trim()).toMatch(/^[0-9a-f]{64}$/);
    const rows = await app.store.db.selectFrom('wa_keys').select('data').execute();
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.every(({ data }) => data[0] === 1 && !data.includes('private'))).toBe(true);
  });

  it('is known to fetch doctor', async () => {
    const doctor = command(['doctor', '--json']);
    await doctor.ended;
    const { findings } = JSON.parse(doctor.output().slice(doctor.output().indexOf('{')));
    expect(findings.find(({ name }: { name: string }) => name === 'whatsapp')).toMatchObject({
      state: 'ok',
      detail: expect.stringContaining('shared number'),
    });
  });

  it('is shown by fetch status, with the number masked and what became of the messages', async () => {
    const json = command(['status', '--json']);
    expect(await json.ended).toBe(0);
    const { roles, home, urls, whatsapp } = JSON.parse(json.output().slice(json.output().indexOf('{')));
    expect(roles.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['gateway', 'worker', 'api', 'temporal', 'postgres']),
    );
    expect([home, urls.status]).toEqual([app.home, app.statusUrl]);
    expect(whatsapp).toMatchObject({
      state: 'authenticated',
      phone: '+15*******11',
      number: 'shared',
      sendsPausedUntil: null,
      lastError: null,
    });
    expect(whatsapp.today.sent + whatsapp.today.delivered + whatsapp.today.read).toBeGreaterThan(0);
    await app.store.db
      .updateTable('wa_accounts')
      .set({ sends_paused_until: new Date(Date.now() + 3_600_000), sends_paused_why: 'slow down' })
      .execute();
    const text = command(['status']);
    expect(await text.ended).toBe(0);
    expect(text.output()).toMatch(
      /whatsapp authenticated \+15\*{7}11 shared number\n {2}nothing is sent until .*Z\n {2}slow down\n {2}sent today: /,
    );
    await app.store.db.updateTable('wa_accounts').set({ sends_paused_until: null, sends_paused_why: null }).execute();
  });

  it('never logs keys, numbers or what was said', () => {
    const log = roleLog(app, 'gateway');
    expect(log).toContain('connected to WhatsApp');
    expect(log).not.toMatch(/privKey|noiseKey|hello from the model|15550001111|100000000000001/);
    expect(log).toContain('INSECURE');
  });

  it('logs out with fetch unpair, which the phone sees', async () => {
    const unpair = command(['unpair']);
    expect(await unpair.ended).toBe(0);
    expect(fixture.devices).toHaveLength(0);
    expect(await status()).toMatchObject({
      state: 'disconnected',
      lastError: expect.stringContaining('link it again'),
    });
  });

  it('gives a pairing code with fetch pair --phone, and refuses what is no number', async () => {
    const wrong = command(['pair', '--phone', 'call me']);
    expect([await wrong.ended, wrong.output()]).toEqual([1, expect.stringContaining('international form')]);
    const pair = command(['pair', '--phone', '+1 555 000-1111', '--number', 'dedicated']);
    const code = await until(
      'a code is on the screen',
      () => /\b([0-9A-Z]{4})-([0-9A-Z]{4})\b/.exec(pair.output()),
      20_000,
    );
    await fixture.phone.enterCode(`${code[1]}${code[2]}`);
    expect(await pair.ended).toBe(0);
    expect(pair.output()).toContain('Authorised people');
  });
});

describe('an address that can be read on the way', () => {
  it('is refused unless it was allowed, and is shown as the error that it is', async () => {
    await app.stop();
    const careless = await startTestApp({ WA_WEB_SOCKET_URL: fixture.url, ADMIN_TOKEN: TOKEN });
    try {
      await fetch(`${careless.statusUrl}/api/whatsapp/start`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const body = await until(
        'the error is shown',
        async () => {
          const now = (await (await fetch(`${careless.statusUrl}/api/status`)).json()) as {
            state: string;
            lastError: string;
          };
          return now.state === 'error' && now;
        },
        15_000,
      );
      expect(body.lastError).toContain('ws: address');
      expect(fixture.connections).toHaveLength(0);
    } finally {
      await careless.close();
    }
  });
});
