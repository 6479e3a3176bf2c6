import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PreviewLink } from '../../../src/adapters/kennel/apps/preview-link.ts';
import { until } from '../../support/until.ts';

/** The link to an app for a phone, before a server that stands for the app. */

let app: Server;
let port: number;
let seen: IncomingMessage[];
let link: PreviewLink;

const appSocket = async () => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket.pause();
};

beforeEach(async () => {
  seen = [];
  app = createServer((request, response) => {
    seen.push(request);
    response.setHeader('set-cookie', 'cart=7; Path=/');
    response.end(`hello at ${request.url}`);
  }).on('upgrade', (request: IncomingMessage, socket) => {
    seen.push(request);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\nlive');
  });
  app.listen(0, '127.0.0.1');
  await once(app, 'listening');
  port = (app.address() as AddressInfo).port;
  link = await PreviewLink.open({ connect: appSocket, port: 3000 }, '127.0.0.1');
});
afterEach(() => {
  link.close();
  app.closeAllConnections();
  app.close();
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(new URL(path, link.url), { method, headers, redirect: 'manual' });
const enter = async (): Promise<string> => {
  const response = await get(link.url, {}, 'POST');
  expect([response.status, response.headers.get('location')]).toEqual([303, '/']);
  return response.headers.get('set-cookie')!.split(';')[0]!;
};

describe('a link to a preview', () => {
  it('lets the browser in that presses its button, and nobody after it', async () => {
    expect((await get('/')).status).toBe(403);
    expect((await get(`${link.url}x`)).status).toBe(403);
    // what looks at a link before a person does uses nothing up
    for (let look = 0; look < 3; look += 1) expect(await (await get(link.url)).text()).toContain('<button');
    const cookie = await enter();
    expect(await (await get('/shop?x=1', { cookie })).text()).toBe('hello at /shop?x=1');
    for (const method of ['GET', 'POST']) expect((await get(link.url, {}, method)).status).toBe(403);
    expect((await get('/', { cookie: `${cookie}x` })).status).toBe(403);
    expect(seen).toHaveLength(1);
  });

  it('shows the app as its own machine would, with the cookies that it has set and no others', async () => {
    const cookie = await enter();
    const others = `${cookie}; session=secret; cart=0`;
    await get('/', { cookie: others, origin: new URL(link.url).origin, referer: link.url });
    await get('/', { cookie: others.replace('cart=0', 'cart=7') });
    expect(seen.map(({ headers }) => [headers.host, headers.origin, headers.referer, headers.cookie])).toEqual([
      ['localhost:3000', 'http://localhost:3000', undefined, undefined],
      ['localhost:3000', undefined, undefined, 'cart=7'],
    ]);
  });

  it('carries WebSockets of the browser that was let in', async () => {
    const cookie = await enter();
    const live = async (cookies: string): Promise<string> => {
      const socket = connect(Number(new URL(link.url).port), '127.0.0.1');
      let said = '';
      socket.on('data', (bytes: Buffer) => {
        said += bytes.toString();
      });
      socket.write(
        `GET /live HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncookie: ${cookies}\r\n\r\n`,
      );
      await once(socket, 'close');
      return said;
    };
    expect(await live(cookie)).toMatch(/^HTTP\/1\.1 101 [\s\S]*live$/);
    expect(seen[0]!.headers).toMatchObject({ host: 'localhost:3000', upgrade: 'websocket' });
    expect(await live('other=1')).toBe('');
    expect(seen).toHaveLength(1);
  });

  it('closes when its time is over, with the connections that are open', async () => {
    const short = await PreviewLink.open({ connect: appSocket, port: 3000 }, '127.0.0.1', 200);
    expect((await fetch(short.url)).status).toBe(200);
    const socket = connect(Number(new URL(short.url).port), '127.0.0.1');
    await once(socket, 'close');
    await until('nothing listens', () =>
      fetch(short.url).then(
        () => false,
        () => true,
      ),
    );
  });

  it('says that the app is away', async () => {
    const away = await PreviewLink.open({ connect: async () => null, port: 3000 }, '127.0.0.1');
    const response = await fetch(away.url, { method: 'POST', redirect: 'manual' });
    const cookie = response.headers.get('set-cookie')!.split(';')[0]!;
    const answer = await fetch(new URL('/', away.url), { headers: { cookie } });
    expect([answer.status, await answer.text()]).toEqual([502, 'The app does not answer.\n']);
    away.close();
  });
});
