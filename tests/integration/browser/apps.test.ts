import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowList } from '../../../src/adapters/kennel/gate/egress/allow-list.ts';
import { openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import { addRules } from '../../../src/store/kennel/egress-rules.ts';
import {
  type BrowserBench,
  type ConnectionCounter,
  connectionCounter,
  PUBLIC,
  publicGate,
  type Site,
  serve,
  startBrowserBench,
} from '../../support/browser-bench.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { NO_DOCKER } from '../../support/docker.ts';
import type { ToolBench } from '../../support/tool-bench.ts';
import { until } from '../../support/until.ts';

/** `http://localhost:PORT` in a real browser, with real apps in their containers. */

/** An app that knows its name: a page with a script, a request and a WebSocket; and pages that try to get elsewhere. */
const APP = String.raw`
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
const name = process.argv[2];
const script = 'const say = (id, text) => { document.getElementById(id).textContent = text };'
  + 'say("script", "the script ran");'
  + 'fetch("/data").then((answer) => answer.text()).then((text) => say("data", text));'
  + 'new WebSocket("ws://" + location.host + "/live").onmessage = ({ data }) => say("live", data);';
// an answer that cannot be read counts for fetch as one, also that of the gate: servers count what reached them
const attempt = (where) => '<title>Try</title><h1>attempt</h1><p id=out>pending</p><script>const done = () => { out.textContent = "reached" };'
  + 'fetch("http://' + where + '/", { mode: "no-cors" }); new WebSocket("ws://' + where + '/").onopen = done;</script><img src="http://' + where + '/x.png" onload="done()">';
let hits = 0;
const pages = {
  '/script.js': () => script,
  '/data': () => 'data of ' + name,
  '/hits': () => 'hits: ' + hits,
  '/hit': () => String(++hits),
  '/try': (where) => attempt(where),
};
createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://app');
  const where = searchParams.get('where');
  if (pathname === '/to') return response.writeHead(302, { location: where }).end();
  const page = pages[pathname]?.(where)
    ?? '<title>App</title><h1>' + name + ' at ' + request.url + '</h1><p>cookie: ' + (request.headers.cookie ?? 'none') + '</p><p id=script></p><p id=data></p><p id=live></p><script src="/script.js"></script>';
  response.writeHead(200, { 'content-type': pathname.endsWith('.js') ? 'text/javascript' : 'text/html', 'set-cookie': 'app=' + name }).end(page);
}).on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ' + accept + '\r\n\r\n');
  const text = Buffer.from('a message of ' + name);
  socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
  socket.on('error', () => {});
}).listen(3000, '127.0.0.1');
`;

describe.skipIf(NO_DOCKER)('an app of a workspace in the browser', () => {
  let database: TestDatabase;
  let bench: BrowserBench;
  let site: Site;
  let victim: ConnectionCounter;
  let ada: ToolBench;
  let bob: ToolBench;

  const open = (chat: ToolBench, url: string) => chat.call('browser_open', { url, waitUntil: 'networkidle' });
  const start = (chat: ToolBench, name: string) =>
    chat.call('app_run', { keep: true, command: `exec node server.mjs ${name}` });
  const stop = async (chat: ToolBench, workspace: string) =>
    expect(await chat.call('app_control', { action: 'stop', app: workspace })).toMatchObject({ ok: true });
  const attack = (port: number): string =>
    `<title>Attack</title><p id=out>pending</p><img src="http://localhost:${port}/hit"><script>
      fetch("http://localhost:${port}/hit", { mode: "no-cors", method: "POST" });
      new WebSocket("ws://127.0.0.1:${port}/live").onopen = () => { out.textContent = "reached" };</script>`;

  beforeAll(async () => {
    database = await startTestDatabase();
    victim = await connectionCounter();
    site = await serve({
      '/': '<title>Site</title><h1>the web</h1>',
      '/attack': attack(3000),
      '/to-app': (_, response) => response.writeHead(302, { location: 'http://localhost:3000/' }).end(),
    });
    const resolve = async (name: string) => [
      { address: name === 'rebind.test' ? '127.0.0.1' : PUBLIC, family: 4 as const },
    ];
    bench = await startBrowserBench(database.store.db, {
      gate: { ...publicGate(resolve), listed: () => allowList([`listed.test:${site.port}`]) },
      settings: { FETCH_BROWSER_SLOTS: '4' },
    });
    [ada, bob] = [await bench.chat(), await bench.chat()];
    for (const [chat, name] of [
      [ada, 'one'],
      [bob, 'two'],
    ] as const) {
      await chat.call('workspace_create', { name, template: 'empty' });
      await chat.call('workspace_select', { name });
      await chat.call('file_write', { path: 'server.mjs', content: APP });
    }
    expect(await start(ada, 'one')).toMatchObject({
      ok: true,
      output: expect.stringContaining('browser_open finds it at http://localhost:3000/'),
    });
  }, 900_000);

  afterAll(async () => {
    for (const app of (await bench?.kennel.kennel.apps.list()) ?? []) await bench.kennel.kennel.apps.stop(app.id);
    await bench?.close();
    await site?.close();
    victim?.server.close();
    await database?.close();
  }, 120_000);

  it('is opened at localhost and its other spellings, with paths, scripts, requests and WebSockets', {
    timeout: 180_000,
  }, async () => {
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'shop.localhost']) {
      const opened = await open(ada, `http://${host}:3000/shop?x=1`);
      expect(opened, host).toMatchObject({ ok: true, output: expect.stringContaining('one at /shop?x=1') });
      await until('all of it is there', async () => {
        const { output } = await ada.call('browser_snapshot', {});
        return ['the script ran', 'data of one', 'a message of one'].every((text) => output.includes(text));
      });
    }
    expect(await ada.call('browser_test', { url: 'http://localhost:3000/', mustInclude: ['one at /'] })).toMatchObject({
      ok: true,
    });
  });

  it('is the one of the own workspace: another chat finds none there, and then its own', {
    timeout: 180_000,
  }, async () => {
    const none =
      'No app in the workspace two listens on port 3000, and localhost here is never the machine itself. Start it with app_run and keep.';
    const missing = await open(bob, 'http://localhost:3000/');
    expect(missing).toMatchObject({ ok: false, output: expect.stringContaining(none) });
    expect(missing.output).toContain('on port 3000 is one of the workspace one: make that the active one first.');
    await start(bob, 'two');
    const [mine, other] = await Promise.all([open(ada, 'http://localhost:3000/'), open(bob, 'http://localhost:3000/')]);
    expect(mine.output).toContain('one at /');
    expect(other.output).toContain('two at /');
  });

  it('never leads to a port of this machine: by its address, a redirect, a part of a page, or a name that has its address', {
    timeout: 180_000,
  }, async () => {
    const postgres = new URL(database.url).port;
    for (const port of [victim.port, postgres]) {
      for (const url of [
        `http://localhost:${port}/`,
        `http://127.0.0.1:${port}/`,
        `http://[::1]:${port}/`,
        `https://localhost:${port}/`,
      ])
        expect(await open(ada, url), url).toMatchObject({
          ok: false,
          output: expect.stringContaining(`No app in the workspace one listens on port ${port}`),
        });
      const moved = await open(ada, `http://localhost:3000/to?where=http://127.0.0.1:${port}/`);
      expect(moved).toMatchObject({ ok: false, output: expect.stringContaining(`listens on port ${port}`) });
    }
    for (const host of ['localhost', '127.0.0.1', '[::1]', '0.0.0.0', 'rebind.test', '127.0.0.2']) {
      const tried = await open(ada, `http://localhost:3000/try?where=${encodeURIComponent(`${host}:${victim.port}`)}`);
      expect(tried, host).toMatchObject({ ok: true, output: expect.stringContaining('pending') });
    }
    // a name of others is never the app, whatever address it has
    for (const url of ['http://rebind.test:3000/', `http://rebind.test:${victim.port}/`])
      expect(await open(ada, url), url).toMatchObject({
        ok: false,
        output: expect.stringContaining('rebind.test is not on the public internet'),
      });
    expect(victim.hits).toBe(0);
  });

  it('is closed for pages of the web', { timeout: 120_000 }, async () => {
    const { output } = await open(ada, `http://site.test:${site.port}/attack`);
    expect(output).toContain('pending');
    expect(output).toContain('The page also asked for localhost:3000');
    expect(await open(ada, `http://site.test:${site.port}/to-app`)).toMatchObject({ ok: false });
    expect((await open(ada, 'http://localhost:3000/hits')).output).toContain('hits: 0');
  });

  it('is no way out: its pages reach the hosts that are allowed for the workspace, and no others', {
    timeout: 180_000,
  }, async () => {
    const before = site.asked.length;
    const reach = (host: string) => open(ada, `http://localhost:3000/try?where=${host}:${site.port}`);
    const refused = await reach('site.test');
    expect(refused.output).toContain('pending');
    expect(refused.output).toContain(`The page also asked for site.test:${site.port}, which was refused.`);
    expect(await open(ada, `http://localhost:3000/to?where=http://site.test:${site.port}/`)).toMatchObject({
      ok: false,
      output: expect.stringContaining(
        `A page of an app reaches its own workspace and the hosts that are allowed there, and site.test:${site.port} is not one`,
      ),
    });
    expect(site.asked.length).toBe(before);
    expect((await reach('listed.test')).output).not.toContain('was refused');
    expect(site.asked.slice(before)).toContain('GET /');
    const task = { id: 'task_1', host: 'local', workspace: 'one' };
    await addRules(database.store.db, task, [{ host: 'ruled.test', port: site.port }], {
      verdict: 'project',
      questionId: 'q_1',
      by: null,
    });
    await until('the rule counts', async () => !(await reach('ruled.test')).output.includes('was refused'));
  });

  it('is in another browser than the web, and than the apps of another workspace', { timeout: 180_000 }, async () => {
    expect((await open(ada, 'http://localhost:3000/')).metadata).toMatchObject({ newBrowser: false });
    expect((await open(ada, 'http://localhost:3000/')).output).toContain('cookie: app=one');
    // and nothing of it is taken along with a log-in of the web
    expect(await ada.call('browser_action', { action: 'save_login', text: 'app' })).toMatchObject({
      ok: false,
      output: expect.stringContaining('There is no log-in to save'),
    });
    expect((await open(ada, `http://site.test:${site.port}/`)).metadata).toMatchObject({ newBrowser: true });
    const again = await open(ada, 'http://localhost:3000/');
    expect(again.output).toContain('cookie: none');
    await ada.call('workspace_select', { name: 'two' });
    const other = await open(ada, 'http://localhost:3000/');
    expect(other).toMatchObject({ output: expect.stringContaining('two at /'), metadata: { newBrowser: true } });
    expect(other.output).toContain('cookie: none');
    await ada.call('workspace_select', { name: 'one' });
  });

  it('is found again after it was started again, and by a process that was just started', {
    timeout: 180_000,
  }, async () => {
    expect((await open(ada, 'http://localhost:3000/')).output).toContain('one at /');
    await stop(ada, 'one');
    // the page is still open, and its link leads nowhere now
    expect(await open(ada, 'http://localhost:3000/')).toMatchObject({
      ok: false,
      output: expect.stringContaining('Start it with app_run and keep.'),
    });
    await start(ada, 'three');
    expect(await open(ada, 'http://localhost:3000/')).toMatchObject({
      output: expect.stringContaining('three at /'),
      metadata: { newBrowser: false },
    });

    const { apps } = bench.kennel.kennel;
    await Promise.all([apps.release(), bench.browsers.closeAll()]);
    const kennel = openKennel(bench.kennel.config);
    const next = await bench.chat(bench.nextProcess());
    const context = { ...ada.context('call_next'), kennel, browsers: next.context('call_other').browsers };
    const { browserOpen, browserSnapshot } = await import('../../../src/tools/browser/open.ts');
    expect(await browserOpen.run({ url: 'http://localhost:3000/again', waitUntil: 'load' }, context)).toMatchObject({
      ok: true,
      output: expect.stringContaining('three at /again'),
      metadata: { newBrowser: false },
    });
    expect(await browserSnapshot.run({}, context)).toMatchObject({ ok: true });
    await kennel.apps.release();
    await apps.tend();
  });

  it('is not guessed when no workspace is active', async () => {
    expect(await open(await bench.chat(), 'http://localhost:3000/')).toMatchObject({
      ok: false,
      output:
        'localhost in the browser means the apps of the active workspace. No workspace is active. Select one of: one, two.',
    });
  });
});
