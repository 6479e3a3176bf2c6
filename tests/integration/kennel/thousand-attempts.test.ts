import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGate, type Gate } from '../../../src/adapters/kennel/gate/gate.ts';
import { isPublicAddress } from '../../../src/adapters/web/address-guard.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startTestKennel, type TestKennel } from '../../support/docker.ts';
import {
  addresses,
  direct,
  MARK,
  names,
  type Place,
  plain,
  smuggled,
  strange,
  throughTheModel,
} from '../../support/egress-attempts.ts';
import type { Attempt, Outcome } from '../../support/egress-probe.ts';
import { newThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

/** A thousand ways out of real containers, while one host is allowed and works. What listens counts every byte. */

const PROBE = fileURLToPath(new URL('../../support/egress-probe.ts', import.meta.url));
const LOOPBACK = '127.0.0.1';

let database: TestDatabase;
let kennel: TestKennel;
let gate: Gate;
/** an address of the host that containers of others reach */
let bridge: string;
let neighbour: { remove(options: { force: true }): Promise<unknown> } | undefined;
const closing: Array<{ close(): unknown }> = [];
const looked = new Set<string>();

beforeAll(async () => {
  database = await startTestDatabase();
  kennel = await startTestKennel();
  const { docker } = kennel.kennel.engine;
  // the bridge comes up with its first container
  const container = await docker.createContainer({
    Image: await kennel.kennel.images.provide('tools'),
    Cmd: ['sleep', '600'],
    Labels: { 'fetch.step': 'neighbour' },
  });
  neighbour = container;
  await container.start();
  bridge = (await container.inspect()).NetworkSettings.Networks.bridge!.Gateway;
}, 600_000);
afterAll(async () => {
  await gate?.closeAll();
  await neighbour?.remove({ force: true });
  for (const item of closing) item.close();
  await kennel?.close();
  await database?.close();
});

/** Counts what reaches it, by any way. */
async function ledger(host: string) {
  const found = { bytes: 0, port: 0 };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      found.bytes += chunk.length;
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  closing.push(server);
  found.port = (server.address() as AddressInfo).port;
  return found;
}

async function datagramLedger() {
  const found = { bytes: 0, port: 0 };
  const socket = createSocket('udp4').on('message', (message) => {
    found.bytes += message.length;
  });
  socket.bind(0, '0.0.0.0');
  await once(socket, 'listening');
  closing.push(socket);
  found.port = socket.address().port;
  return found;
}

/** The host that the tasks may reach. It keeps what it was asked. */
async function allowedHost() {
  const asked: Array<{ url: string; host: string }> = [];
  const server = createHttpServer((request, response) => {
    asked.push({ url: request.url ?? '', host: request.headers.host ?? '' });
    response.end('here');
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  closing.push(server);
  return { asked, port: (server.address() as AddressInfo).port };
}

const send = (host: string, port: number) =>
  new Promise<void>((resolve, reject) => {
    const socket = connect({ host, port }, () => socket.end('x', resolve)).once('error', reject);
  });

/**
 * Runs attempts in the container of a task of their own, because a task that was refused too often is not answered any
 * more.
 */
async function inContainer(
  name: string,
  place: Place,
  attempts: readonly Attempt[],
  threadId: string,
): Promise<Outcome[]> {
  const at = {
    chat_id: `api/${threadId}`,
    thread_id: threadId,
    turn_id: 'turn_1',
    call_id: `call_${name}`,
    workflow_id: `task/${name}`,
  };
  const rest = {
    goal: 'g',
    agent: 'auto',
    harness: 'practice' as const,
    host: 'local',
    workspace: name,
    state: 'running' as const,
    timeout_ms: 60_000,
  };
  await database.store.db
    .insertInto('tasks')
    .values({ id: name, ...at, ...rest })
    .execute();
  const folder = join(kennel.home, 'runs', name, 'gate');
  const budget = { tokens: 1_000, microUsd: 1_000, dayTokens: 1_000, dayMicroUsd: 1_000 };
  await gate.open({
    taskId: name,
    folder,
    budget,
    allow: [place.allowed.tunnel, place.allowed.plain, `inward.example:${place.ports.loopback}`],
    at: { host: 'local', workspace: name },
  });
  const works: Attempt[] = [
    {
      what: 'works: tunnel',
      via: 'egress',
      answers: 2,
      send: [
        `CONNECT ${place.allowed.tunnel} HTTP/1.1\r\nHost: x\r\n\r\n`,
        `GET ${MARK}/tunnel HTTP/1.1\r\nHost: ${place.allowed.tunnel}\r\n\r\n`,
      ],
    },
    {
      what: 'works: plain',
      via: 'egress',
      answers: 1,
      send: [`GET http://${place.allowed.plain}${MARK}/plain HTTP/1.1\r\nHost: ${place.allowed.plain}\r\n\r\n`],
    },
  ];
  // an allowed name that leads to an address that is not public
  const inward: Attempt = {
    what: 'inward',
    via: 'egress',
    send: [`CONNECT inward.example:${place.ports.loopback} HTTP/1.1\r\nHost: x\r\n\r\n`, 'escape'],
  };
  const workspace = kennel.workspace();
  copyFileSync(PROBE, join(workspace, 'probe.ts'));
  writeFileSync(join(workspace, 'attempts.json'), JSON.stringify([...works, inward, ...attempts]), { mode: 0o644 });
  const argv = ['node', '/workspace/probe.ts', '/workspace/attempts.json'];
  const result = await kennel.kennel.command({
    workspace,
    argv,
    timeoutMs: 60_000,
    maxOutput: 4 * 1024 * 1024,
    label: 'attempts',
    gate: folder,
  });
  if (result.code !== 0) throw new Error(`the probe ended with ${result.code}: ${result.stderr}`);
  return JSON.parse(result.stdout) as Outcome[];
}

it('a thousand attempts from inside bring no byte to a host without a yes, while an allowed one works', async () => {
  const [everywhere, loopback, udp, open] = [
    await ledger('0.0.0.0'),
    await ledger(LOOPBACK),
    await datagramLedger(),
    await allowedHost(),
  ];
  const allowed = { tunnel: `allowed.example:${open.port}`, plain: `mirror.example:${open.port}` };
  const place: Place = {
    public: bridge,
    loopback: LOOPBACK,
    ports: { everywhere: everywhere.port, loopback: loopback.port, udp: udp.port },
    allowed,
  };
  gate = createGate({
    db: database.store.db,
    settings: {
      ANTHROPIC_BASE_URL: `http://${LOOPBACK}:${open.port}${MARK}`,
      GOOGLE_GEMINI_BASE_URL: `http://${LOOPBACK}:${open.port}${MARK}`,
    } as never,
    log: pino({ level: 'silent' }),
    mirrors: [{ host: 'mirror.example', port: open.port, plain: true }],
    allows: (address) => address === bridge || isPublicAddress(address),
    resolve: async (host) => {
      looked.add(host);
      return [{ address: host === 'inward.example' ? LOOPBACK : bridge, family: 4 }];
    },
  });
  // that the ledgers are there, and count
  for (const [host, at] of [
    [bridge, everywhere],
    [LOOPBACK, everywhere],
    [LOOPBACK, loopback],
  ] as const) {
    await send(host, at.port);
    await until('it is counted', () => at.bytes > 0);
    at.bytes = 0;
  }

  const { threadId } = await newThread(database.store.db);
  const own = Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map(({ address }) => address));
  const hosts = [
    ...new Set([
      ...own,
      bridge,
      '172.17.0.2',
      '169.254.169.254',
      '100.100.100.200',
      '1.1.1.1',
      '8.8.8.8',
      '2606:4700:4700::1111',
      'fd00:ec2::254',
    ]),
  ];
  const kinds: Record<string, Attempt[]> = {
    names: names(place),
    addresses: addresses(place),
    plain: plain(place),
    smuggled: smuggled(place),
    strange: strange(place),
    direct: [...throughTheModel(place), ...direct(hosts, place)],
  };
  expect(Object.values(kinds).flat().length).toBeGreaterThan(1_000);

  const outcomes: Record<string, Outcome[]> = {};
  await Promise.all(
    Object.entries(kinds).map(async ([name, attempts]) => {
      outcomes[name] = await inContainer(name, place, attempts, threadId);
    }),
  );
  const all = Object.values(outcomes).flat();
  expect({ everywhere: everywhere.bytes, loopback: loopback.bytes, udp: udp.bytes }).toEqual({
    everywhere: 0,
    loopback: 0,
    udp: 0,
  });
  // its own loopback takes datagrams, for nobody
  const reached = all.filter((one) => one.reached && !/^UDP (127|::1)/.test(one.what));
  expect(reached.map(({ what }) => what)).toEqual([]);
  // nobody's name server learned of a name without a yes
  expect([...looked].sort()).toEqual(['allowed.example', 'inward.example', 'mirror.example']);
  // what the allowed host got was meant for it
  expect(
    open.asked.filter(({ url, host }) => !url.startsWith(MARK) || ![allowed.tunnel, allowed.plain].includes(host)),
  ).toEqual([]);
  const works = all.filter(({ what }) => what.startsWith('works'));
  expect(works).toHaveLength(12);
  for (const { what, statuses } of works) expect(statuses, what).toEqual(what.endsWith('tunnel') ? [200, 200] : [200]);
  const passed = all.filter(
    ({ what, statuses }) => !/^(works|smuggled)/.test(what) && statuses.some((status) => status >= 200 && status < 300),
  );
  expect(passed.map(({ what }) => what)).toEqual([]);
}, 60_000);
