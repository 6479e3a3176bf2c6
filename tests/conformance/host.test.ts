import { connect } from 'node:net';
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiStack, startApi } from './api-stack.ts';

let api: ApiStack;
beforeAll(async () => {
  api = await startApi({ token: 'tok-host', model: 'm', corsOrigins: '' });
}, 120_000);
afterAll(() => api?.close());

/** Status and body of a request whose head is written byte for byte. */
const ask = (port: number, path: string, ...headers: string[]): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () =>
      socket.write([`GET ${path} HTTP/1.1`, ...headers, 'Connection: close', '', ''].join('\r\n')),
    );
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('end', () =>
      resolve({ status: Number(text.split(' ')[1]), body: text.slice(text.indexOf('\r\n\r\n') + 4) }),
    );
  });

describe.each([
  ['the runtime API', () => api.port, '/health'],
  ['the status API', () => api.statusPort, '/api/status'],
] as const)('%s', (_what, port, path) => {
  it.each([
    'localhost',
    'LOCALHOST:7878',
    'localhost.',
    '127.0.0.1:1',
    '[::1]:7878',
    '192.168.1.20',
    `${hostname()}.local`,
  ])('answers for %s', async (host) => expect((await ask(port(), path, `Host: ${host}`)).status).toBe(200));

  it.each([
    'attacker.example',
    'attacker.example:8765',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example',
    '[::1].attacker.example',
    '',
  ])('tells a page whose name resolves to this machine nothing: %s', async (host) => {
    const { status, body } = await ask(port(), path, `Host: ${host}`);
    expect([400, 421]).toContain(status);
    expect(body).not.toMatch(/qrCode|deepseek-runtime-api/);
  });

  it('refuses two names, whichever comes first', async () => {
    for (const hosts of [
      ['localhost', 'attacker.example'],
      ['attacker.example', 'localhost'],
    ])
      expect((await ask(port(), path, ...hosts.map((host) => `Host: ${host}`))).status).toBe(400);
  });
});

it('a name that the settings give is answered for', async () => {
  const port = await api.another({ FETCH_ALLOWED_HOSTS: 'fetch.example.org, other.example.org' });
  expect((await ask(port, '/health', 'Host: fetch.example.org:443')).status).toBe(200);
  expect((await ask(port, '/health', 'Host: example.org')).status).toBe(421);
});
