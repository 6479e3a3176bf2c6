import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PushGone, sendWebPush, vapidKeys } from '../../../src/adapters/push.ts';

/** Notices as a push service and a browser read them, from the RFCs and with nothing of the library that sends them. */

interface Received {
  method: string | undefined;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

let origin: string;
let status = 201;
const received: Received[] = [];
const service = createServer(async (request, response) => {
  received.push({ method: request.method, headers: request.headers, body: await buffer(request) });
  response.writeHead(status).end();
});
beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => service.close(resolve)));

const derived = (secret: Buffer, salt: Buffer, info: Buffer | string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

/** RFC 8291 section 3, in the one record that RFC 8188 makes of a short message. */
function decrypted(body: Buffer, browser: ReturnType<typeof createECDH>, auth: Buffer): string {
  const [salt, size, keyLength] = [body.subarray(0, 16), body.readUInt32BE(16), body.readUInt8(20)];
  const [serverKey, record] = [body.subarray(21, 21 + keyLength), body.subarray(21 + keyLength)];
  expect([keyLength, record.length]).toEqual([65, expect.toSatisfy((length: number) => length <= size)]);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser.getPublicKey(), serverKey]);
  const secret = derived(browser.computeSecret(serverKey), auth, info, 32);
  const key = derived(secret, salt, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = derived(secret, salt, 'Content-Encoding: nonce\0', 12);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.findLastIndex((byte) => byte !== 0);
  // 2: the last record
  expect(padded[end]).toBe(2);
  return padded.subarray(0, end).toString();
}

/** RFC 8292: the claims of the sender, whose signature is right. */
function senderOf({ headers }: Received): { claims: Record<string, unknown>; key: string } {
  const [, token = '', key = ''] = /^vapid t=([^,]+), ?k=([\w-]+)$/.exec(headers.authorization ?? '') ?? [];
  const [head = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  const signed = Buffer.from(`${head}.${claims}`);
  const dsa = { key: publicKey, dsaEncoding: 'ieee-p1363' as const };
  expect(verify('sha256', signed, dsa, Buffer.from(signature, 'base64url'))).toBe(true);
  expect(JSON.parse(Buffer.from(head, 'base64url').toString())).toEqual({ typ: 'JWT', alg: 'ES256' });
  return { claims: JSON.parse(Buffer.from(claims, 'base64url').toString()), key };
}

function browser() {
  const keys = createECDH('prime256v1');
  const p256dh = keys.generateKeys('base64url');
  const auth = randomBytes(16);
  const to = { endpoint: `${origin}/phone`, keys: { p256dh, auth: auth.toString('base64url') }, origin: null };
  return { to, reads: (body: Buffer) => decrypted(body, keys, auth) };
}
const notice = { title: 'Fetch', body: 'Which colour? Grün, or 緑?', tag: 'question/q_1', url: '/#/now/q_1' };

it('a browser reads the notice, and a push service knows who sent it', async () => {
  const { to, reads } = browser();
  const keys = vapidKeys('a secret');
  await sendWebPush({ ...to, origin: 'https://fetch.example.com' }, notice, keys);
  const got = received.at(-1)!;
  expect(JSON.parse(reads(got.body))).toEqual(notice);
  expect(got.body.includes('colour')).toBe(false);
  expect(got).toMatchObject({
    method: 'POST',
    headers: { 'content-encoding': 'aes128gcm', ttl: '86400', urgency: 'high' },
  });
  const { claims, key } = senderOf(got);
  expect(key).toBe(keys.publicKey);
  expect(claims).toEqual({ aud: origin, sub: 'https://fetch.example.com', exp: expect.any(Number) });
  const hours = ((claims.exp as number) - Date.now() / 1000) / 3600;
  // services refuse a claim for longer than a day
  expect(hours).toSatisfy((left: number) => left > 0 && left <= 24);
});

it.each<readonly [string | null, string]>([
  ['https://fetch.example.net:8443', 'https://fetch.example.net:8443'],
  ['https://laptop.tail1234.ts.net', 'https://laptop.tail1234.ts.net'],
  ...[
    'http://localhost:7878',
    'https://localhost:7878',
    'https://laptop',
    'https://laptop.local',
    'https://box.home.arpa',
    'https://box.lan',
    'https://192.168.1.5:7878',
    'https://[::1]:7878',
    'nonsense',
    null,
  ].map((origin) => [origin, 'mailto:fetch@example.com'] as const),
])('a page at %s names a contact that Apple takes', async (page, contact) => {
  const { to } = browser();
  await sendWebPush({ ...to, origin: page }, notice, vapidKeys('a secret'));
  expect(senderOf(received.at(-1)!).claims.sub).toBe(contact);
});

it('the keys of a home stay the same, and are others in another home', () => {
  expect(vapidKeys('a secret')).toEqual(vapidKeys('a secret'));
  expect(vapidKeys('another').publicKey).not.toBe(vapidKeys('a secret').publicKey);
});

it('a browser that took its permission back is told apart from a service that fails', async () => {
  const { to } = browser();
  status = 410;
  await expect(sendWebPush(to, notice, vapidKeys('a secret'))).rejects.toThrow(PushGone);
  status = 503;
  await expect(sendWebPush(to, notice, vapidKeys('a secret'))).rejects.toThrow('503');
  status = 201;
});
