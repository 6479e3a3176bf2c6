import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { offerPort } from '../../../kennel/app/tunnels.ts';
import { Preview } from '../../../src/adapters/kennel/apps/preview.ts';
import { createBrowserGate } from '../../../src/adapters/kennel/gate/browser-gate.ts';
import type { LocalApps } from '../../../src/adapters/kennel/gate/egress/local-apps.ts';
import { until } from '../../support/until.ts';

/**
 * The gate of a browser for apps, with an app and its preview in this process. tests/integration/browser/apps.test.ts
 * has all of it in containers.
 */

const folder = mkdtempSync(join(tmpdir(), 'fetch-local-'));
const gate = createBrowserGate({
  log: pino({ level: 'silent' }),
  listed:
    () =>
    ({ host }) =>
      host === 'listed.test',
  resolve: async () => [{ address: '127.0.0.1', family: 4 }],
});
let app: Server;
let port: number;
let preview: Preview;
let apps: LocalApps;
const open = (to: LocalApps | null, rules: Parameters<typeof gate.open>[0]['rules'] = async () => []) =>
  gate.open({ key: 'one', folder: join(folder, 'gate'), rules, apps: to });

beforeAll(async () => {
  app = createServer((asked, answer) => answer.end(`${asked.method} ${asked.url} of ${asked.headers.host}`)).on(
    'upgrade',
    (_, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello');
    },
  );
  await new Promise<void>((done) => app.listen(0, '127.0.0.1', done));
  port = (app.address() as AddressInfo).port;
  preview = await Preview.open(join(folder, 'app'), '/workspace', 0);
  offerPort(join(folder, 'app', 'preview.sock'), port);
  await until('the app says its port', () => preview.appPort === port);
  apps = {
    workspace: '/workspace',
    connect: async (at) => (at === port ? await preview.tunnel() : null),
    missing: async (at) => `no app on ${at}`,
  };
  await open(apps);
});

afterAll(async () => {
  await gate.closeAll();
  await preview.close();
  app.closeAllConnections();
  app.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (url: string, method = 'GET') =>
  new Promise<string>((done, failed) => {
    const sent = request({
      socketPath: join(folder, 'gate', 'egress.sock'),
      path: url,
      method,
      headers: { host: new URL(url).host },
      agent: false,
    });
    sent.on('error', failed).on('response', async (answer) => {
      let text = '';
      for await (const part of answer) text += part;
      done(`${answer.statusCode} ${text.trim()}`);
    });
    sent.end(method === 'POST' ? 'body' : undefined);
  });
const tunnel = (to: string, words = '') =>
  new Promise<string>((done) => {
    let said = '';
    const client = connect(join(folder, 'gate', 'egress.sock')).on('data', (part) => {
      said += part;
      if (words && said.includes('200 Connection')) client.write(words);
      words = '';
    });
    client.on('close', () => done(said));
    client.write(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n\r\n`);
  });

it('leads each spelling of localhost to the app, with method, path and host', async () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'shop.localhost'])
    expect(await get(`http://${host}:${port}/a?b=1`)).toBe(`200 GET /a?b=1 of ${host}:${port}`);
  expect(await get(`http://localhost:${port}/a`, 'POST')).toBe(`200 POST /a of localhost:${port}`);
});

it('serves many requests at a time', async () => {
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => get(`http://localhost:${port}/${n}`)));
  expect(answers).toEqual(answers.map((_, n) => `200 GET /${n} of localhost:${port}`));
});

it('joins a tunnel to the app, as for a WebSocket', async () => {
  expect(
    await tunnel(`localhost:${port}`, 'GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  ).toMatch(/101 Switching[\s\S]*hello$/);
});

it('says why where no app listens, and notes it', async () => {
  gate.refused('one');
  expect(await get(`http://localhost:${port + 1}/`)).toBe(`404 no app on ${port + 1}`);
  expect(await tunnel('127.0.0.1:5432')).toContain('no app on 5432');
  expect(gate.refused('one')).toEqual([
    { host: 'localhost', port: port + 1, words: `no app on ${port + 1}` },
    { host: '127.0.0.1', port: 5432, words: 'no app on 5432' },
  ]);
});

it('leads other names nowhere but to allowed hosts, and those to public addresses only', async () => {
  // the name has the address of the app's machine
  expect(await get(`http://other.test:${port}/`)).toMatch(/^403 A page of an app reaches its own workspace/);
  expect(await get('http://listed.test/')).toBe(
    '403 listed.test is not on the public internet, and only public addresses may be reached.',
  );
  const rule = {
    id: 'r',
    workspace: 'w',
    taskId: null,
    host: 'listed.test',
    port: 80,
    allowed: false,
    once: false,
    over: false,
  };
  await open(apps, async () => [rule]);
  await until('the no of a person counts', async () =>
    (await get('http://listed.test/')).startsWith('403 A page of an app reaches'),
  );
});

it('leads localhost nowhere when the browser is for the web', async () => {
  await open(null);
  expect(await get(`http://localhost:${port}/`)).toBe(
    '403 localhost is not on the public internet, and only public addresses may be reached.',
  );
  expect(await tunnel(`localhost:${port}`)).toContain('403 Address not public');
  await open(apps);
  expect(await get(`http://localhost:${port}/`)).toContain('200 GET /');
});
