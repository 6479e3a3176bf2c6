import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { isPublicAddress, type Resolver } from '../../../src/adapters/web/address-guard.ts';
import { convertPage } from '../../../src/adapters/web/convert-page.ts';
import { type FetchOptions, fetchPage } from '../../../src/adapters/web/fetch-page.ts';
import { readablePage } from '../../../src/adapters/web/readable.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<{ port: number; hits: () => number }> {
  let hits = 0;
  const server = createServer((request, response) => {
    hits += 1;
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, host, done));
  return { port: (server.address() as AddressInfo).port, hits: () => hits };
}

const get = (url: string, options: Partial<FetchOptions> = {}) =>
  fetchPage(url, { signal: new AbortController().signal, allows: () => true, ...options });
/** the test's own servers stand for the public internet */
const allows = (address: string) => address === '127.0.0.1' || isPublicAddress(address);

test.each([
  '127.0.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '198.18.0.1',
  '0.0.0.0',
  '224.0.0.1',
  '255.255.255.255',
  '192.0.0.8',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001::1',
  'fd00::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '2001:db8::1',
  '168.63.129.16',
  'nonsense',
])('%s is not a public address', (address) => expect(isPublicAddress(address)).toBe(false));
test.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111'])('%s is a public address', (address) =>
  expect(isPublicAddress(address)).toBe(true),
);

test('an address of this machine is none, also where it is one of the public internet', () => {
  const own = ['8.8.8.8', '2606:4700:4700:0:0:0:0:1111'];
  expect(['8.8.8.8', '2606:4700:4700::1111', '8.8.4.4'].map((address) => isPublicAddress(address, own))).toEqual([
    false,
    false,
    true,
  ]);
});

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://localhost/',
])('%s is refused before a connection is made', async (url) => {
  await expect(fetchPage(url, { signal: new AbortController().signal })).rejects.toThrow('public internet');
});

test('credentials, other schemes and broken URLs are refused', async () => {
  await expect(get('http://user:secret@example.com/')).rejects.toThrow('user name or password');
  await expect(get('file:///etc/passwd')).rejects.toThrow('Only http and https');
  await expect(get('http://')).rejects.toThrow('not a valid URL');
});

test('a redirect to a private address is not followed', async () => {
  for (const target of [
    'http://127.0.0.2:1/',
    'http://[::1]/',
    'http://169.254.169.254/latest',
    'http://inside.test/',
  ]) {
    const { port } = await serve((_, response) => response.writeHead(302, { location: target }).end());
    const resolve: Resolver = async () => [{ address: '10.0.0.7', family: 4 }];
    await expect(get(`http://127.0.0.1:${port}/`, { allows, resolve })).rejects.toThrow('public internet');
  }
});

test('the address that was checked is the address that is connected to, however often the name changes its mind', async () => {
  const inside = await serve((_, response) => response.end('secret'), '127.0.0.2');
  let asked = 0;
  const resolve: Resolver = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
  const outside = await serve((_, response) =>
    response.writeHead(302, { location: `http://rebind.test:${inside.port}/`, 'content-type': 'text/plain' }).end(),
  );
  await expect(get(`http://rebind.test:${outside.port}/`, { allows, resolve })).rejects.toThrow('public internet');
  expect({ asked, outside: outside.hits(), inside: inside.hits() }).toEqual({ asked: 2, outside: 1, inside: 0 });
});

test('private addresses are left out of an answer that has public ones too', async () => {
  const { port } = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('open'));
  const resolve: Resolver = async () => [
    { address: '127.0.0.2', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ];
  expect((await get(`http://mixed.test:${port}/`, { allows, resolve })).text).toBe('open');
});

test('five redirects are followed and a sixth is not', async () => {
  const { port } = await serve((request, response) => {
    const left = Number(request.url!.slice(1));
    if (left === 0) response.writeHead(200, { 'content-type': 'text/plain' }).end('there');
    else response.writeHead(307, { location: `/${left - 1}` }).end();
  });
  expect((await get(`http://127.0.0.1:${port}/5`)).text).toBe('there');
  await expect(get(`http://127.0.0.1:${port}/6`)).rejects.toThrow('more than 5 times');
});

test('a body is read up to the limit, also when it was compressed', async () => {
  const { port } = await serve((_, response) =>
    response
      .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
      .end(gzipSync(Buffer.alloc(3_000_000, 'a'))),
  );
  const page = await get(`http://127.0.0.1:${port}/`, { maxBytes: 100_000 });
  expect(page).toMatchObject({ cut: true });
  expect(page.text.length).toBe(100_000);
});

test('a body that never ends meets the time limit', async () => {
  const { port } = await serve((_, response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).write('begun'),
  );
  await expect(get(`http://127.0.0.1:${port}/`, { timeoutMs: 300 })).rejects.toThrow('took longer than 0.3 seconds');
});

test('an abort ends the fetch with its own reason', async () => {
  const { port } = await serve(() => {});
  const abort = new AbortController();
  const fetching = get(`http://127.0.0.1:${port}/`, { signal: abort.signal });
  abort.abort(new Error('interrupted'));
  await expect(fetching).rejects.toThrow('interrupted');
});

test('the charset comes from the header, then from the page, and an unknown one is read as UTF-8', async () => {
  const bodies: Record<string, [string, Buffer]> = {
    '/header': ['text/html; charset=iso-8859-1', Buffer.from('caf\u00e9', 'latin1')],
    '/meta': ['text/html', Buffer.from('<meta charset="windows-1252">caf\u00e9', 'latin1')],
    '/bad': ['text/html; charset=klingon', Buffer.from('caf\u00e9')],
  };
  const { port } = await serve((request, response) => {
    const [type, body] = bodies[request.url!]!;
    response.writeHead(200, { 'content-type': type }).end(body);
  });
  for (const path of Object.keys(bodies))
    expect((await get(`http://127.0.0.1:${port}${path}`)).text).toContain('caf\u00e9');
});

test('the bytes decide where a declaration is late, contradicts the header, or stands in the XML', async () => {
  const russian = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]);
  const page = (head: string, body: Buffer) => Buffer.concat([Buffer.from(head), body]);
  const late = `<html><head><script>${' '.repeat(40_000)}</script><meta charset="windows-1251">`;
  const bodies: Record<string, [string, Buffer]> = {
    '/late': ['text/html', page(late, russian)],
    '/xml': ['application/xhtml+xml', page('<?xml version="1.0" encoding="windows-1251"?><p>', russian)],
    '/latin': ['text/html; charset=iso-8859-1', page('<meta charset="windows-1251">', russian)],
    '/wrong': ['text/html; charset=utf-8', page('<meta charset="windows-1251">', russian)],
    '/utf8': ['text/html; charset=windows-1251', Buffer.from('Привет')],
    '/utf16': ['text/html', Buffer.from('<p>Привет', 'utf16le')],
    '/koi8': [
      'text/html; charset=windows-1251',
      page('<meta charset="koi8-r">', Buffer.from([0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4])),
    ],
    '/escaped': ['text/html', Buffer.from('<meta charset="utf-16"><p>Привет')],
  };
  const { port } = await serve((request, response) => {
    const [type, body] = bodies[request.url!]!;
    response.writeHead(200, { 'content-type': type }).end(body);
  });
  for (const path of Object.keys(bodies)) {
    const { text, unreadable } = await get(`http://127.0.0.1:${port}${path}`);
    expect({ path, unreadable, read: text.includes('Привет') }).toEqual({ path, unreadable: false, read: true });
  }
});

test('an ASCII page that calls itself UTF-16 is read as it is', async () => {
  const { port } = await serve((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<meta charset="utf-16"><p>hello, world.'),
  );
  expect((await get(`http://127.0.0.1:${port}/`)).text).toContain('hello, world');
});

test('a page of a few letters in another alphabet that says it is Latin 1 is known as unreadable', async () => {
  const { port } = await serve((_, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html; charset=iso-8859-1' })
      .end(Buffer.from([0xcf, 0xf0, 0xe8, 0xe2])),
  );
  expect((await get(`http://127.0.0.1:${port}/`)).unreadable).toBe(true);
});

test('what is not text is refused politely', async () => {
  const { port } = await serve((_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x'));
  await expect(get(`http://127.0.0.1:${port}/`)).rejects.toThrow('image/png, which cannot be read as text');
});

test('a refused connection is told in words', async () => {
  const { port } = await serve(() => {});
  await new Promise((done) => servers.pop()!.close(done));
  await expect(get(`http://127.0.0.1:${port}/`)).rejects.toThrow('refused the connection');
});

const page = `<html><head><title>A  page</title></head><body><nav><a href="/x">menu</a></nav><article><h1>Head</h1>${'<p>Some words that make a paragraph long enough to be an article, with commas, too.</p>'.repeat(10)}<p><a href="/more">more</a><img src="data:image/png;base64,AAAA"></p></article><script>alert(1)</script><div id="side">Aside</div></body></html>`;

test('an article is read as markdown with absolute links and without scripts', () => {
  const { title, markdown } = readablePage(page, 'https://example.com/a/b');
  expect(title).toBe('A page');
  expect(markdown).toContain('[more](https://example.com/more)');
  expect(markdown).not.toMatch(/alert|base64|menu/);
});

test('a selector picks one element, and a wrong one says so', () => {
  expect(readablePage(page, 'https://example.com/', '#side').markdown).toBe('Aside');
  expect(() => readablePage(page, 'https://example.com/', '#nowhere')).toThrow('Nothing on the page matches');
  expect(() => readablePage(page, 'https://example.com/', '[[')).toThrow('not a valid CSS selector');
});

test.each([
  '',
  'just text',
  '<p>one</p>',
  '<body><p>one</p>',
  '<html><p>one</p></html>',
  '<!-- x -->',
  '<?xml version="1.0"?><html><body>one</body></html>',
])('%j is no reason to fail', (html) => {
  expect(readablePage(html, 'https://example.com/').markdown).toBe(
    html.includes('one') ? 'one' : html === 'just text' ? html : '',
  );
});

test('converts a page in its own thread, and gives up on one that was made to take for ever', async () => {
  const signal = new AbortController().signal;
  expect(await convertPage('<h1>Hi</h1><p>there</p>', 'https://example.com/', undefined, signal)).toMatchObject({
    markdown: expect.stringContaining('there'),
  });
  await expect(convertPage('<p>x</p>', 'https://example.com/', '#none', signal)).rejects.toThrow(
    'Nothing on the page matches',
  );
  const from = performance.eventLoopUtilization();
  await expect(convertPage('<div>'.repeat(100_000), 'https://example.com/', undefined, signal, 1000)).rejects.toThrow(
    /too complicated|could not be turned/,
  );
  // the process that asked stayed free for its heartbeats
  expect(performance.eventLoopUtilization(from).utilization).toBeLessThan(0.9);
});

test('reads page after page in one thread, and two at once in two, whatever became of the page before', async () => {
  const text = async (word: string, signal = new AbortController().signal) =>
    (await convertPage(`<p>${word}</p>`, 'https://example.com/', undefined, signal)).markdown;
  expect(await text('one')).toContain('one');
  expect(await Promise.all([text('two'), text('three')])).toEqual([
    expect.stringContaining('two'),
    expect.stringContaining('three'),
  ]);
  await expect(text('four', AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  await expect(
    convertPage('<div>'.repeat(100_000), 'https://example.com/', undefined, new AbortController().signal, 50),
  ).rejects.toThrow();
  expect(await text('five')).toContain('five');
});
