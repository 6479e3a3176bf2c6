import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import { generate } from 'selfsigned';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openRegistryCache, RegistryCache } from '../../../src/adapters/kennel/gate/cache/registry-cache.ts';
import type { GateDeps } from '../../../src/adapters/kennel/gate/gate.ts';
import { cachedHost, type Origin } from '../../../src/domain/tasks/registries/registry-cache.ts';
import { reachedBy } from '../../../src/store/kennel/egress.ts';
import { openAsks, revokeRules } from '../../../src/store/kennel/egress-rules.ts';
import { type GateBench, type OpenedTask, startGateBench } from '../../support/gate-bench.ts';
import { until } from '../../support/until.ts';

/** A real gate with a cache, and registries that speak TLS. What a program at the egress socket gets of them. */

let bench: GateBench;
let certificate: { private: string; cert: string };
const trusted = getCACertificates();
beforeAll(async () => {
  bench = await startGateBench();
  const names = ['registry.example', 'files.example', 'moved.example'].map((value) => ({ type: 2 as const, value }));
  certificate = await generate([{ name: 'commonName', value: 'registry.example' }], {
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: names },
    ],
  });
  setDefaultCACertificates([...trusted, certificate.cert]);
});
afterEach(() => bench?.cleared());
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await bench?.close();
});

interface Registry {
  port: number;
  /** as a container names it */
  name(host?: string): string;
  requests: Array<{ path: string; headers: IncomingMessage['headers']; method: string }>;
  stop(): Promise<void>;
}

async function registry(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  scheme: Origin['scheme'] = 'https',
): Promise<Registry> {
  const requests: Registry['requests'] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    requests.push({ path: request.url!, headers: request.headers, method: request.method! });
    answer(request, response);
  };
  const server =
    scheme === 'https'
      ? createTlsServer({ key: certificate.private, cert: certificate.cert }, listener)
      : createHttpServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((done) => server.close(done));
  };
  bench.open.push({ close: stop });
  return { port, name: (host = 'registry.example') => cachedHost({ scheme, host, port })!, requests, stop };
}

const newCache = (megabytes = 100) =>
  new RegistryCache({ folder: join(bench.home, 'registries'), megabytes, log: pino({ level: 'silent' }) });
const resolve: GateDeps['resolve'] = async (host) => [
  { address: host.startsWith('private') ? '10.0.0.5' : '127.0.0.1', family: 4 },
];

/** What a program gets for one address. */
async function get(
  at: OpenedTask,
  host: string,
  path: string,
  { method = 'GET', headers = '', body = '' } = {},
): Promise<string> {
  const { socket, said } = at.send(`${method} http://${host}${path} HTTP/1.0\r\n${headers}\r\n${body}`);
  await once(socket, 'close');
  return said();
}

const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);

/** Waits until a person is asked before anything is given. Rules that are known stay known for a moment. */
const isAsked = (at: OpenedTask, host: string, path: string): Promise<unknown> =>
  until('a person is asked', async () => {
    void get(at, host, path);
    return (await openAsks(bench.db, at.task)).length === 1;
  });

/** A task in a workspace whose person has allowed the registry. */
async function allowed(
  workspace: string,
  from: Registry,
  deps: Partial<GateDeps>,
  host = 'registry.example',
): Promise<OpenedTask> {
  const at = await bench.task(workspace, { resolve, ...deps });
  await bench.db
    .insertInto('egress_rules')
    .values({
      id: `${at.task.id}/${host}`,
      kennel_host: 'local',
      workspace,
      host,
      port: from.port,
      allowed: true,
      question_id: `${at.task.id}_egress.0`,
    })
    .execute();
  return at;
}

describe('a registry in the cache', () => {
  it('is held until a person allows it, is asked once, and answers again when it is gone, also for another task of the project', async () => {
    const from = await registry((_, response) => response.end('left'));
    const cache = newCache();
    const first = await bench.task('offline', { resolve, cache });
    const one = get(first, from.name(), '/left.tgz', { headers: 'User-Agent: npm/11\r\n' });
    await first.asked(1);
    expect(from.requests).toEqual([]);
    const { prompt } = await first.answer('this project');
    expect(prompt).toBe(`npm in offline wants registry.example:${from.port}.\nPort ${from.port} is an unusual one.`);
    expect(await one).toMatch(/^HTTP\/1.1 200 [\s\S]*left$/);
    await first.gate.close(first.task.id);
    const [reached] = await reachedBy(bench.db, first.task.id);
    expect(reached).toMatchObject({ host: 'registry.example', port: from.port, connections: 1 });
    expect(reached!.received).toBeGreaterThan(100);

    await from.stop();
    const second = await bench.task('offline', { resolve, cache });
    expect(await get(second, from.name(), '/left.tgz')).toMatch(/^HTTP\/1.1 200 [\s\S]*left$/);
    expect(await get(second, from.name(), '/right.tgz')).toMatch(/^HTTP\/1.1 502 [\s\S]*cannot be reached/);
    await second.gate.close(second.task.id);
    expect(await reachedBy(bench.db, second.task.id)).toEqual([]);
  });

  it('is given to no workspace without a yes, and no longer once the yes is taken back', async () => {
    const from = await registry((_, response) => response.setHeader('cache-control', 'max-age=600').end('left'));
    const cache = newCache();
    const at = await allowed('with', from, { cache });
    expect(await get(at, from.name(), '/left.tgz')).toContain('left');
    const other = await bench.task('without', { resolve, cache });
    const asking = other.send(`GET http://${from.name()}/left.tgz HTTP/1.0\r\n\r\n`);
    await other.asked(1);
    expect(asking.said()).toBe('');
    await revokeRules(bench.db, 'local', ['with'], { host: 'registry.example', port: from.port });
    await isAsked(at, from.name(), '/left.tgz');
  });

  it('is asked again by the rules of HTTP only', async () => {
    const from = await registry((request, response) => {
      response.setHeader('etag', '"1"');
      response.setHeader('cache-control', request.url === '/fresh' ? 'max-age=600' : 'max-age=0');
      if (request.headers['if-none-match']) response.writeHead(304).end();
      else response.end('left');
    });
    const at = await allowed('fresh', from, { cache: newCache() });
    for (const path of ['/fresh', '/fresh', '/old', '/old']) expect(await get(at, from.name(), path)).toMatch(/left$/);
    expect(from.requests.map(({ path, headers }) => [path, headers['if-none-match']])).toEqual([
      ['/fresh', undefined],
      ['/old', undefined],
      ['/old', '"1"'],
    ]);
  });

  it('is not asked again for a while when it says nothing of how long an answer holds', async () => {
    const from = await registry((_, response) => response.end('left'));
    const at = await allowed('silent', from, { cache: newCache() });
    for (const path of ['/left', '/left', '/left-1.0.0.tgz', '/left-1.0.0.tgz'])
      expect(await get(at, from.name(), path)).toMatch(/left$/);
    expect(from.requests.map(({ path }) => path)).toEqual(['/left', '/left-1.0.0.tgz']);
  });

  it('hears nothing of a container but the path, the method and what it accepts, and one container does not change what another gets', async () => {
    const from = await registry((request, response) =>
      response.setHeader('cache-control', 'max-age=600').end(JSON.stringify(request.headers)),
    );
    const cache = newCache();
    const evil = await allowed('evil', from, { cache });
    const headers = [
      'Cookie: a=1',
      'Authorization: Bearer 1',
      'X-Forwarded-Host: evil.example',
      'User-Agent: evil',
      'Accept-Language: evil',
      'Range: bytes=0-1',
    ];
    await get(evil, from.name(), '/left', { headers: `${headers.join('\r\n')}\r\nAccept: evil/evil\r\n` });
    const [{ headers: heard }] = from.requests as [Registry['requests'][number]];
    expect(Object.keys(heard).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
    expect(heard).toMatchObject({
      accept: 'evil/evil',
      host: `registry.example:${from.port}`,
      'user-agent': 'fetch-durable (registry cache)',
    });
    const good = await allowed('good', from, { cache });
    expect(await get(good, from.name(), '/left', { headers: 'Accept: application/json\r\n' })).not.toContain('evil');
    expect(from.requests).toHaveLength(2);
  });

  it('is nowhere on a host that keeps nothing, and nobody is asked about its name', async () => {
    const from = await registry((_, response) => response.end('left'));
    const at = await allowed('off', from, {
      cache: openRegistryCache({ FETCH_HOME: bench.home, FETCH_REGISTRY_CACHE_MB: 0 }, pino({ level: 'silent' })),
    });
    expect(await get(at, from.name(), '/left.tgz')).toMatch(/^HTTP\/1.1 403 Only https/);
    expect([from.requests, await openAsks(bench.db, at.task)]).toEqual([[], []]);
  });

  it('gets a question of a package manager without keeping its answer, and no other method', async () => {
    const from = await registry((request, response) => request.pipe(response));
    const at = await allowed('audit', from, { cache: newCache() });
    const post = { method: 'POST', headers: 'Content-Length: 4\r\nCookie: a=1\r\n', body: 'ping' };
    for (let time = 0; time < 2; time += 1)
      expect(await get(at, from.name(), '/audit', post)).toMatch(/^HTTP\/1.1 200 [\s\S]*ping$/);
    expect(from.requests.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined]);
    expect(await get(at, from.name(), '/audit', { method: 'PUT' })).toMatch(/^HTTP\/1.1 405 /);
    expect(await get(at, from.name(), '/audit', { method: 'POST', headers: 'Content-Length: 5000000\r\n' })).toMatch(
      /^HTTP\/1.1 413 /,
    );
  });
});

describe('where a registry leads', () => {
  it('is followed to a second public host by redirect, and never to a private one', async () => {
    const from = await registry((request, response) => {
      const to: Record<string, string> = {
        '/moved': `https://files.example:${from.port}/file`,
        '/private': `https://private.example:${from.port}/file`,
        '/literal': `https://10.0.0.5:${from.port}/file`,
        '/plain': `http://files.example:${from.port}/file`,
        '/round': '/round',
      };
      const location = to[request.url!];
      if (location) response.writeHead(302, { location }).end();
      else response.end('left');
    });
    const at = await allowed('redirects', from, { cache: newCache() });
    expect(await get(at, from.name(), '/moved')).toMatch(/^HTTP\/1.1 200 [\s\S]*left$/);
    expect(from.requests.map(({ headers }) => headers.host)).toEqual([
      `registry.example:${from.port}`,
      `files.example:${from.port}`,
    ]);
    for (const path of ['/private', '/literal'])
      expect(await get(at, from.name(), path)).toMatch(/^HTTP\/1.1 403 Address not public/);
    expect(await get(at, from.name(), '/plain')).toMatch(/^HTTP\/1.1 403 Only https/);
    expect(await get(at, from.name(), '/round')).toMatch(/^HTTP\/1.1 502 /);
    // one yes was enough for all
    await at.gate.close(at.task.id);
    expect((await reachedBy(bench.db, at.task.id)).map(({ host }) => host).sort()).toEqual([
      'files.example',
      'registry.example',
    ]);
  });

  it('is never a server of the owner, unless it is one itself', async () => {
    const own = await registry((_, response) => response.setHeader('cache-control', 'max-age=600').end('own'), 'http');
    const from = await registry((_, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${own.port}/own` }).end(),
    );
    const mirrors = [{ host: '127.0.0.1', port: own.port, plain: true }];
    const deps = { cache: newCache(), mirrors };
    const theirs = await allowed('of the owner', own, deps, '127.0.0.1');
    expect(await get(theirs, own.name('127.0.0.1'), '/own')).toMatch(/own$/);
    const at = await allowed('of a stranger', from, deps);
    expect(await get(at, from.name(), '/')).toMatch(/^HTTP\/1.1 403 Address not public/);
  });

  it('is named in an index: its files come with the same yes, and with no other name', async () => {
    const from = await registry((request, response) => {
      if (request.url !== '/simple/left/') return response.end('a wheel');
      const files = [
        'left-1.whl',
        `https://files.example:${from.port}/left-2.whl#sha256=1`,
        `https://private.example:${from.port}/left-3.whl`,
      ];
      response
        .setHeader('content-type', 'application/vnd.pypi.simple.v1+json')
        .end(JSON.stringify({ files: files.map((url) => ({ url })) }));
    });
    const cache = newCache();
    const at = await allowed('pip', from, { cache });
    const page = await get(at, from.name(), '/simple/left/');
    const [relative, public_, private_] = (JSON.parse(bodyOf(page)) as { files: Array<{ url: string }> }).files.map(
      ({ url }) => url,
    );
    expect(relative).toBe('left-1.whl');
    const { host, pathname, hash } = new URL(public_!);
    expect([pathname, hash]).toEqual(['/left-2.whl', '#sha256=1']);
    expect(await get(at, host, pathname)).toMatch(/^HTTP\/1.1 200 [\s\S]*a wheel$/);
    expect(await get(at, new URL(private_!).host, '/left-3.whl')).toMatch(/^HTTP\/1.1 403 Address not public/);
    // another origin, another registry, and another mark
    const mark = /\.([0-9a-f]{32})\./.exec(host)![1]!;
    for (const forged of [
      host.replace('files.', 'moved.'),
      host.replace('registry.example', 'evil.example'),
      host.replace(mark, '0'.repeat(32)),
    ])
      expect(await get(at, forged, '/x')).toMatch(/^HTTP\/1.1 403 /);
    expect(from.requests.map(({ headers }) => headers.host)).toEqual([
      `registry.example:${from.port}`,
      `files.example:${from.port}`,
    ]);
    // without a mark it is a host like any other
    await isAsked(at, from.name('files.example'), '/left-2.whl');
    // a restart of the gate keeps its marks, and a registry that is taken back takes its files along
    const later = await bench.task('pip', { resolve, cache: newCache() });
    await from.stop();
    expect(await get(later, host, pathname)).toMatch(/a wheel$/);
    await revokeRules(bench.db, 'local', ['pip'], { host: 'registry.example', port: from.port });
    await isAsked(later, host, pathname);
  });
});

describe('what the cache keeps', () => {
  const large = 'x'.repeat(3 * 1024 * 1024);

  it('is whole for a client that reads slowly, and nothing of an answer that breaks off', async () => {
    let breaks = true;
    const from = await registry((request, response) => {
      if (request.url === '/slow') return response.end(large.repeat(5));
      response.setHeader('content-length', large.length);
      if (!breaks) return response.end(large);
      response.write(large.slice(0, 1_000_000), () => response.destroy());
    });
    const at = await allowed('slow', from, { cache: newCache() });
    const slow = at.send(`GET http://${from.name()}/slow HTTP/1.0\r\n\r\n`);
    slow.socket.pause();
    await until('it is kept', () =>
      readdirSync(join(bench.home, 'registries/files'), { recursive: true }).some((path) =>
        String(path).startsWith('content-v2/'),
      ),
    );
    slow.socket.resume();
    await once(slow.socket, 'close');
    expect(
      slow
        .said()
        .split('\r\n\r\n')[1]!
        .replace(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n|\r\n0$/g, '').length,
    ).toBe(large.length * 5);
    expect((await get(at, from.name(), '/broken')).length).toBeLessThan(large.length);
    breaks = false;
    expect(bodyOf(await get(at, from.name(), '/broken'))).toBe(large);
  });

  it('is swept to its size, oldest use first, and asked for again', async () => {
    const from = await registry((request, response) =>
      response.setHeader('cache-control', 'max-age=600').end(request.url + large),
    );
    const cache = newCache(10);
    const at = await allowed('swept', from, { cache });
    for (const path of ['/1', '/2', '/3', '/4', '/5']) await get(at, from.name(), path);
    await cache.sweep();
    const { length } = from.requests;
    expect(bodyOf(await get(at, from.name(), '/5'))).toMatch(/^\/5/);
    expect(from.requests).toHaveLength(length);
    expect(bodyOf(await get(at, from.name(), '/1'))).toMatch(/^\/1/);
    expect(from.requests).toHaveLength(length + 1);
  });

  it('may be lost at any time', async () => {
    const from = await registry((_, response) => response.setHeader('cache-control', 'max-age=600').end('left'));
    const at = await allowed('lost', from, { cache: newCache() });
    await get(at, from.name(), '/left');
    rmSync(join(bench.home, 'registries/files/content-v2'), { recursive: true });
    expect(await get(at, from.name(), '/left')).toMatch(/left$/);
    rmSync(join(bench.home, 'registries/files'), { recursive: true });
    expect(await get(at, from.name(), '/left')).toMatch(/left$/);
    expect(from.requests).toHaveLength(3);
  });
});
