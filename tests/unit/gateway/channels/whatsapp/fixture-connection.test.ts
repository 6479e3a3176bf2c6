import { proto } from '@whiskeysockets/baileys';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../../../../support/until.ts';
import { memoryAuth, pairedClient, startClient, type TestClient } from '../../../../support/whatsapp/client.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../../../../support/whatsapp/fixture.ts';

let fixture: WhatsAppFixture;
const clients: TestClient[] = [];
const track = (client: TestClient): TestClient => {
  clients.push(client);
  return client;
};
const start = (...options: Parameters<typeof startClient> extends [unknown, ...infer Rest] ? Rest : never) =>
  track(startClient(fixture, ...options));
const paired = async (...options: Parameters<typeof pairedClient> extends [unknown, ...infer Rest] ? Rest : never) =>
  track(await pairedClient(fixture, ...options));
const qr = (client: TestClient) => until('a QR', () => client.qrs.at(-1), 10_000);

beforeEach(async () => {
  for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {});
  fixture = await startWhatsAppFixture();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.stop();
  await fixture.close();
  vi.restoreAllMocks();
});

describe('pairing', () => {
  it('links by QR, restarts the client with 515 and gives it history and keys', async () => {
    const carol = fixture.contact('Carol');
    const client = await paired();
    expect(client.closes).toEqual([515]);
    expect(client.auth.state.creds.me).toMatchObject({
      id: '15550001111:1@s.whatsapp.net',
      lid: '100000000000001:1@lid',
    });
    expect(fixture.devices[0]!.preKeys.size).toBeGreaterThan(800);
    const history = client.events.find((events) => events['messaging-history.set'])!['messaging-history.set']!;
    expect(history.chats.map(({ id }) => id)).toEqual([carol.lid]);
    await until('the app-state key', () => client.auth.state.creds.myAppStateKeyId, 5_000);
    await until('everything is taken', () => fixture.queue.length === 0, 5_000);
  });

  it('links by code, as a second device too', async () => {
    await paired();
    const client = start();
    await qr(client);
    const code = await client.sock.requestPairingCode('15550001111');
    await until('the server waits for the code', () => fixture.connections.some(({ pairing }) => pairing?.link), 5_000);
    expect(await fixture.phone.enterCode(code)).toBe(2);
    await client.opened();
    expect(fixture.devices).toHaveLength(2);
    const { id } = await fixture.contact('Bob').send('to both');
    await Promise.all(clients.map((each) => each.message(id)));
    const [first] = clients;
    const { key } = (await first!.sock.sendMessage(fixture.contacts[0]!.lid, { text: 'from the first device' }))!;
    expect((await client.message(key.id!)).key).toMatchObject({ fromMe: true, remoteJid: fixture.contacts[0]!.lid });
  });

  it('sends long history over the media host', async () => {
    const client = await paired();
    const bob = fixture.contact('Bob');
    await fixture.phone.historySync({ viaMedia: true, syncType: proto.HistorySync.HistorySyncType.RECENT });
    await until(
      'the history',
      () => client.events.some((events) => events['messaging-history.set']?.chats.some(({ id }) => id === bob.lid)),
      10_000,
    );
  });

  it('lets a client refuse a phone that does not know its secret', async () => {
    const client = start();
    await expect(fixture.phone.scan(await qr(client), { advSecret: Buffer.alloc(32) })).rejects.toThrow(
      'closed the connection',
    );
    expect(fixture.devices).toHaveLength(0);
  });

  it('refuses a wrong code, a stale QR and a forged one', async () => {
    const client = start({ config: { qrTimeout: 50 } });
    const first = await qr(client);
    const forged = first.split(',');
    forged[2] = Buffer.alloc(32, 1).toString('base64');
    await expect(fixture.phone.scan(forged.join(','))).rejects.toThrow('another identity');
    await client.closedWith(408);
    expect(new Set(client.qrs).size).toBe(6);
    await until('the server has noticed', () => fixture.connections.length === 0, 5_000);
    await expect(fixture.phone.scan(first)).rejects.toThrow('no client shows this QR');
    const second = start();
    await qr(second);
    await second.sock.requestPairingCode('15550001111');
    await until('the server waits for the code', () => fixture.connections.some(({ pairing }) => pairing?.link), 5_000);
    await expect(fixture.phone.enterCode('WRONG123')).rejects.toThrow('not the one');
  });

  it('tells a pairing client that its secret is retired, and takes the new one', async () => {
    const client = start();
    const shown = (await qr(client)).split(',');
    const rotated = new Promise((resolve) =>
      client.sock.ws.once('CB:notification,type:companion_reg_refresh', resolve),
    );
    fixture.rotateAdvSecret();
    await rotated;
    client.auth.state.creds.advSecretKey = Buffer.alloc(32, 7).toString('base64');
    shown[3] = client.auth.state.creds.advSecretKey;
    await fixture.phone.scan(shown.join(','));
    await client.opened();
  });
});

describe('logins', () => {
  it('keeps what arrives while the client is away and marks it as late', async () => {
    const client = await paired();
    const bob = fixture.contact('Bob');
    client.stop();
    await until('it is gone', () => fixture.connections.length === 0, 5_000);
    const { id } = await bob.send('are you there?', { at: new Date(Date.now() - 3_600_000) });
    expect(fixture.queue.map(({ stanza }) => stanza.attrs.id)).toContain(id);
    client.connect();
    await client.message(id);
    expect(client.messages.find(({ message }) => message.key.id === id)?.type).toBe('append');
    expect(fixture.ledger.logins.at(-1)).toMatchObject({ outcome: 'accepted', routingInfo: expect.any(Buffer) });
    await until('it is taken', () => fixture.queue.every(({ stanza }) => stanza.attrs.id !== id), 5_000);
  });

  it('sends again what was delivered and not taken', async () => {
    const client = await paired();
    const bob = fixture.contact('Bob');
    fixture.faults.holdInbound(true);
    const { id } = await bob.send('held');
    expect(await client.sock.onWhatsApp(bob.pn)).toHaveLength(1);
    expect(client.messages.some(({ message }) => message.key.id === id)).toBe(false);
    // the process dies at the moment of the delivery
    fixture.hooks.once('delivered', () => fixture.disconnect('tcp'));
    fixture.faults.holdInbound(false);
    await client.closedWith(428);
    expect(fixture.queue.find(({ stanza }) => stanza.attrs.id === id)).toMatchObject({ writes: 1 });
    client.connect();
    await until(
      'it was sent twice',
      () => fixture.ledger.delivered.filter(({ stanza }) => stanza.attrs.id === id).length === 2,
      10_000,
    );
  });

  it('ends the older of two logins of the same device', async () => {
    const client = await paired();
    start({ auth: client.auth });
    await client.closedWith(440);
  });

  it('refuses the device after it was removed, and after it has logged out itself', async () => {
    const client = await paired();
    fixture.disconnect('device_removed');
    await client.closedWith(401);
    client.connect();
    await until('the login is refused', () => fixture.ledger.logins.at(-1)?.outcome === 'refused', 5_000);
    const again = await paired({ auth: memoryAuth() });
    await again.sock.logout();
    await until('the server has removed it', () => fixture.devices.length === 0, 5_000);
  });

  it('refuses a login with another key than the linked one', async () => {
    const client = await paired();
    client.stop();
    const thief = memoryAuth();
    thief.state.creds.me = client.auth.state.creds.me;
    await start({ auth: thief }).closedWith(401);
  });

  it.each([403, 405, 500, 503])('refuses logins with %i until it is told otherwise', async (reason) => {
    const client = await paired();
    client.stop();
    fixture.refuseLogins(reason);
    client.connect();
    await client.closedWith(reason);
    fixture.refuseLogins(null);
    client.connect();
    await client.opened();
  });
});

describe('disconnects', () => {
  it.each([
    ['tcp', 428],
    ['xmlstreamend', 428],
    ['replaced', 440],
    [{ streamError: 503 }, 503],
    [{ streamError: 515 }, 515],
  ] as const)('ends with %j as code %i', async (how, code) => {
    const client = await paired();
    const before = client.closes.length;
    fixture.disconnect(how);
    await until(`it closes with ${code}`, () => client.closes.slice(before).includes(code), 10_000);
    if (code !== 515)
      await expect(client.sock.sendMessage(fixture.contact('Bob').lid, { text: 'too late' })).rejects.toMatchObject({
        output: { statusCode: 428 },
      });
  });

  it('falls silent, and the client gives up after its keepalive', async () => {
    const client = await paired({ config: { keepAliveIntervalMs: 300 } });
    fixture.disconnect('silent');
    await client.closedWith(408);
  });

  it('sees the same id twice when a client dies after sending and sends again', async () => {
    const client = await paired();
    const bob = fixture.contact('Bob');
    await client.sock.sendMessage(bob.lid, { text: 'warm up' });
    fixture.hooks.on('stanza', function die(stanza: { tag: string }) {
      if (stanza.tag !== 'message') return;
      fixture.hooks.off('stanza', die);
      fixture.disconnect('tcp');
    });
    const messageId = '3EB0CCCCCCCCCCCCCCCCCC';
    await client.sock.sendMessage(bob.lid, { text: 'once only' }, { messageId });
    await client.closedWith(428);
    client.connect();
    await until('it is open again', () => client.open, 10_000);
    await client.sock.sendMessage(bob.lid, { text: 'once only' }, { messageId });
    await until('both are seen', () => fixture.ledger.timesSeen(messageId) === 2, 5_000);
    await until('both are decrypted', () => bob.message(messageId)?.times === 2, 5_000);
    expect(bob.screen()).toEqual(['warm up', 'once only']);
  });
});
