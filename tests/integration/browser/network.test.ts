import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BrowserGateDeps } from '../../../src/adapters/kennel/gate/browser-gate.ts';
import {
  type BrowserBench,
  type ConnectionCounter,
  connectionCounter,
  type Pages,
  PUBLIC,
  publicGate,
  type Site,
  serve,
  startBrowserBench,
} from '../../support/browser-bench.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { NO_DOCKER } from '../../support/docker.ts';
import type { ToolBench } from '../../support/tool-bench.ts';

/**
 * What a page may reach, tried with a real browser, a server on a private address that counts every connection, and a
 * real DNS server.
 */

describe.skipIf(NO_DOCKER)('the network of the browser', () => {
  let database: TestDatabase;
  let bench: BrowserBench;
  let chat: ToolBench;
  let site: Site;
  let victim: ConnectionCounter;
  let dns: Awaited<ReturnType<typeof dnsServer>>;
  let at: string;

  beforeAll(async () => {
    database = await startTestDatabase();
    dns = await dnsServer();
    bench = await startBrowserBench(database.store.db, { gate: publicGate(dns.resolve) });
    victim = await connectionCounter();
    const pages = Object.entries({ ...attempts(victim.port), ...leadsInside }).map(
      ([path, html]) => [path, `<title>t</title><h1>page</h1><p id=out>pending</p>${html}`] as const,
    );
    const moved = Object.entries(redirects(victim.port)).map(([path, target]) => [path, redirecting(target)] as const);
    site = await serve(Object.fromEntries<Pages[string]>([...pages, ...moved]));
    at = `http://site.test:${site.port}`;
    chat = await bench.chat();
  }, 900_000);

  afterAll(async () => {
    await site?.close();
    victim?.server.close();
    dns?.socket.close();
    await bench?.close();
    await database?.close();
  });

  const local = (port: number): string[] => [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://[::1]:${port}/`,
    `http://2130706433:${port}/`,
    `http://0x7f.1:${port}/`,
    `https://127.0.0.1:${port}/`,
  ];
  const direct = (port: number): string[] => [
    `http://0.0.0.0:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://private.test:${port}/`,
    `http://mixed-private.test:${port}/`,
    'http://169.254.169.254/latest/meta-data/',
    'http://metadata.test/',
    'http://10.0.0.1/',
    'http://192.168.0.1/',
    'http://172.17.0.1/',
    'http://100.64.0.1/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
  ];

  it('defect 30: opens no address that is not public, however it is written', async () => {
    for (const url of direct(victim.port)) {
      const { ok, output } = await chat.call('browser_open', { url });
      expect({ url, ok, output }).toEqual({
        url,
        ok: false,
        output: expect.stringContaining('is not on the public internet, and only public addresses may be reached.'),
      });
    }
    expect(victim.hits).toBe(0);
  }, 120_000);

  it('takes every spelling of localhost for an app, and never for this machine', async () => {
    for (const url of local(victim.port)) {
      const { ok, output } = await chat.call('browser_open', { url });
      expect({ url, ok, output }).toEqual({
        url,
        ok: false,
        output: expect.stringMatching(/^localhost in the browser means the apps of the active workspace\./),
      });
    }
    expect(victim.hits).toBe(0);
  });

  it.each(Object.keys(attempts(0)))('defect 30: gives a page nothing of a private address by %s', async (path) => {
    const { ok, output } = await chat.call('browser_open', { url: `${at}${path}`, waitUntil: 'networkidle' });
    expect(ok).toBe(true);
    expect(output).not.toContain('secret');
    expect(victim.hits).toBe(0);
  });

  it('defect 30: follows no redirect and no link of a script to a private address', async () => {
    for (const path of Object.keys(redirects(0))) {
      const { ok, output } = await chat.call('browser_open', { url: `${at}${path}` });
      expect({ path, ok, output }).toEqual({
        path,
        ok: false,
        output: expect.stringMatching(/not on the public internet|could not be opened/),
      });
    }
    expect(victim.hits).toBe(0);
  });

  it('defect 30: connects to no private address when a name changes its address between two requests', async () => {
    dns.rebinds.add('rebind.test');
    expect(await chat.call('browser_open', { url: `http://rebind.test:${site.port}/plain` })).toMatchObject({
      ok: true,
    });
    const asked = dns.asked('rebind.test');
    expect(asked).toBeGreaterThan(0);
    const { ok, output } = await chat.call('browser_open', { url: `http://rebind.test:${victim.port}/` });
    expect({ ok, output }).toEqual({
      ok: false,
      output: expect.stringContaining('rebind.test is not on the public internet'),
    });
    expect(dns.asked('rebind.test')).toBeGreaterThan(asked);
    expect(victim.hits).toBe(0);
  });

  it('defect 30: shows nothing of a file or of the browser itself, whether it is asked for or a page leads there', async () => {
    const inside = [
      'file:///etc/passwd',
      'file:///proc/self/environ',
      'view-source:file:///etc/passwd',
      'chrome://version',
      'about:version',
      'data:text/html,x',
    ];
    for (const url of inside) await expect(chat.call('browser_open', { url })).rejects.toThrow(/http or https/);
    for (const path of Object.keys(leadsInside)) {
      const { output } = await chat.call('browser_open', { url: `${at}${path}`, waitUntil: 'networkidle' });
      expect([path, output]).toEqual([path, expect.not.stringMatching(/root:x:0|\/bin\/(ba)?sh|Chromium.*Revision/)]);
      if (!output.includes('Go there')) continue;
      const ref = Number(/"Go there".*?ref=(\d+)/.exec(output)![1]);
      const clicked = await chat.call('browser_action', { action: 'click', ref });
      expect([path, clicked.output]).toEqual([
        path,
        expect.not.stringMatching(/root:x:0|\/bin\/(ba)?sh|Chromium.*Revision/),
      ]);
    }
  }, 120_000);

  it('names the addresses that a page asked for in vain', async () => {
    const { output, metadata } = await chat.call('browser_open', { url: `${at}/image`, waitUntil: 'networkidle' });
    expect(output).toContain(`The page also asked for 127.0.0.1:${victim.port}, which was refused.`);
    expect(metadata).toMatchObject({ refused: [`127.0.0.1:${victim.port}`] });
  });
});

/** Pages that try to reach a private port; they write `reached` where they succeed. */
function attempts(port: number): Record<string, string> {
  const say = 'document.getElementById("out").textContent = "reached"';
  return {
    '/plain': '',
    '/image': `<img src="http://127.0.0.1:${port}/a.png" onload='${say}'>`,
    '/script-tag': `<script src="http://localhost:${port}/a.js" onload='${say}'></script>`,
    '/frame': `<iframe src="http://127.0.0.1:${port}/"></iframe>`,
    '/fetch': `<script>fetch("http://127.0.0.1:${port}/", { mode: "no-cors" }).then(() => { ${say} })</script>`,
    '/post': `<script>fetch("http://private.test:${port}/", { mode: "no-cors", method: "POST", body: "x" }).then(() => { ${say} })</script>`,
    '/xhr': `<script>const x = new XMLHttpRequest(); x.open("GET", "http://[::1]:${port}/"); x.onload = () => { ${say} }; x.send()</script>`,
    '/websocket': `<script>const w = new WebSocket("ws://127.0.0.1:${port}/"); w.onopen = () => { ${say} }</script>`,
    '/websocket-name': `<script>const w = new WebSocket("ws://private.test:${port}/"); w.onopen = () => { ${say} }</script>`,
    '/beacon': `<script>navigator.sendBeacon("http://127.0.0.1:${port}/", "x")</script>`,
    '/events': `<script>new EventSource("http://127.0.0.1:${port}/").onopen = () => { ${say} }</script>`,
    '/prefetch': `<link rel="prefetch" href="http://127.0.0.1:${port}/"><link rel="preconnect" href="http://127.0.0.1:${port}/"><link rel="dns-prefetch" href="//127.0.0.1:${port}">`,
    '/worker': `<script>new Worker(URL.createObjectURL(new Blob(['fetch("http://127.0.0.1:${port}/", { mode: "no-cors" }).then(() => postMessage(1))']))).onmessage = () => { ${say} }</script>`,
    '/webrtc': `<script>const p = new RTCPeerConnection({ iceServers: [{ urls: "turn:127.0.0.1:${port}?transport=tcp", username: "a", credential: "b" }] }); p.createDataChannel("x"); p.createOffer().then((o) => p.setLocalDescription(o))</script>`,
    '/tools-of-the-browser': `<script>for (const port of [9222, 3128, 9223]) fetch("http://127.0.0.1:" + port + "/json", { mode: "no-cors" }).then((r) => r.type === "opaque" && 0)</script>`,
  };
}

/** Pages that lead to files of the container, or to pages of the browser. */
const leadsInside: Record<string, string> = {
  '/link-to-file': '<a href="file:///etc/passwd">Go there</a>',
  '/script-to-file': '<script>location.href = "file:///etc/passwd"</script>',
  '/frame-of-file': '<iframe src="file:///etc/passwd"></iframe><object data="file:///etc/passwd"></object>',
  '/fetch-of-file':
    '<script>fetch("file:///etc/passwd").then((r) => r.text()).then((t) => { out.textContent = t })</script>',
  '/window-of-file': "<button onclick=\"window.open('file:///etc/passwd', '_self')\">Go there</button>",
  '/script-to-chrome': '<script>location.href = "chrome://version"</script>',
  '/refresh-to-file': '<meta http-equiv="refresh" content="0;url=file:///etc/passwd">',
};

const redirects = (port: number): Record<string, string> => ({
  '/to-number': `http://127.0.0.1:${port}/`,
  '/to-name': `http://private.test:${port}/`,
  '/to-metadata': 'http://169.254.169.254/latest/',
  '/to-file': 'file:///etc/passwd',
});

const redirecting =
  (location: string): Pages[string] =>
  (_, response) =>
    void response.writeHead(302, { location }).end();

/**
 * A DNS server that answers A questions, and the resolver that asks it. A name in `rebinds` has the public address
 * first, and a private one from then on.
 */
async function dnsServer(): Promise<{
  socket: Socket;
  rebinds: Set<string>;
  asked(name: string): number;
  resolve: NonNullable<BrowserGateDeps['resolve']>;
}> {
  const socket = createSocket('udp4');
  const counts = new Map<string, number>();
  const rebinds = new Set<string>();
  const addressesOf = (name: string, before: number): string[] => {
    if (rebinds.has(name)) return [before === 0 ? PUBLIC : '127.0.0.1'];
    if (name === 'metadata.test') return ['169.254.169.254'];
    if (name === 'mixed-private.test') return ['127.0.0.1', '10.0.0.1'];
    if (name === 'private.test' || name === 'localhost') return ['127.0.0.1'];
    return name.endsWith('.test') ? [PUBLIC] : [];
  };
  socket.on('message', (question, from) => {
    const labels: string[] = [];
    let place = 12;
    for (let length = question[place]!; length > 0; length = question[place]!) {
      labels.push(question.subarray(place + 1, place + 1 + length).toString());
      place += length + 1;
    }
    const name = labels.join('.').toLowerCase();
    const before = counts.get(name) ?? 0;
    counts.set(name, before + 1);
    const addresses = addressesOf(name, before);
    const header = Buffer.from(question.subarray(0, 12));
    header.writeUInt16BE(addresses.length > 0 ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(addresses.length, 6);
    header.fill(0, 8);
    const answers = addresses.map((address) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
    );
    socket.send(Buffer.concat([header, question.subarray(12, place + 5), ...answers]), from.port, from.address);
  });
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    socket,
    rebinds,
    asked: (name) => counts.get(name) ?? 0,
    resolve: async (name) => (await resolver.resolve4(name)).map((address) => ({ address, family: 4 as const })),
  };
}
