import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BrowserBench, type Site, serve, startBrowserBench } from '../../support/browser-bench.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { NO_DOCKER } from '../../support/docker.ts';
import type { ToolBench } from '../../support/tool-bench.ts';

const PAGE = `<title>Shop of Ada</title><h1>Welcome</h1><p>Two apples.</p>
  <a href="/next?page=2">Next page</a>
  <form><label>Name <input name="name"></label><button>Send</button></form>`;

describe.skipIf(NO_DOCKER)('the browser of a chat', () => {
  let database: TestDatabase;
  let bench: BrowserBench;
  let site: Site;
  let at: string;
  let chat: ToolBench;

  beforeAll(async () => {
    database = await startTestDatabase();
    bench = await startBrowserBench(database.store.db, { settings: { FETCH_BROWSER_SLOTS: '2' } });
    site = await serve({
      '/': PAGE,
      '/cookie': (request, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'who=ada; Path=/' })
          .end(
            `<h1>cookie: ${request.headers.cookie ?? 'none'}</h1><script>document.body.append(' stored: ' + localStorage.x); localStorage.x = 'kept'</script>`,
          ),
      '/script': '<h1 id=h>before</h1><script>document.getElementById("h").textContent = "after"</script>',
      '/late':
        '<h1 id=h>before</h1><script>setTimeout(async () => { await fetch("/"); document.getElementById("h").textContent = "fetched" }, 300)</script>',
      '/alert': '<h1>Hello</h1><script>alert("stop"); confirm("really?")</script>',
      '/empty': '',
      '/long': `<title>Long</title><h1>Beginning</h1>${Array.from({ length: 2000 }, (_, row) => `<button>Row ${row}</button>`).join('')}<h2>The very end</h2>`,
      '/moved': (_, response) => response.writeHead(302, { location: '/' }).end(),
      '/endless': (_, response) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).write('<h1>half of it</h1>'),
    });
    at = `http://site.test:${site.port}`;
    chat = await bench.chat();
  }, 900_000);

  afterAll(async () => {
    await site?.close();
    await bench?.close();
    await database?.close();
  });

  it('opens a page and says what is on it, with a number for each element', async () => {
    const opened = await chat.call('browser_open', { url: `${at}/` });
    expect(opened).toMatchObject({
      ok: true,
      metadata: { url: `${at}/`, title: 'Shop of Ada', truncated: false, refused: [], newBrowser: true },
    });
    expect(opened.output).toMatch(/^Shop of Ada\nhttp:\/\/site\.test:\d+\/\nThis is a new browser/);
    expect(opened.output).toMatch(/heading "Welcome" \[.*ref=\d+\]/);
    expect(opened.output).toContain('Two apples.');
    expect(opened.output).toMatch(new RegExp(`link "Next page" \\[ref=\\d+, url=${at}/next\\?page=2\\]`));
    expect(opened.output).toMatch(/textbox "Name" \[ref=\d+\]/);
    const again = await chat.call('browser_snapshot', {});
    expect(again).toMatchObject({ ok: true, metadata: { url: `${at}/`, newBrowser: false } });
    expect(again.output).toContain('button "Send"');
    const moved = await chat.call('browser_open', { url: `${at}/moved` });
    expect(moved).toMatchObject({ ok: true, metadata: { url: `${at}/`, newBrowser: false } });
  });

  it('runs the scripts of a page, also those that end later, and is not held up by its dialogs', async () => {
    expect((await chat.call('browser_open', { url: `${at}/script` })).output).toContain('heading "after"');
    expect((await chat.call('browser_open', { url: `${at}/late`, waitUntil: 'networkidle' })).output).toContain(
      'heading "fetched"',
    );
    expect((await chat.call('browser_open', { url: `${at}/alert` })).output).toContain('heading "Hello"');
    expect(await chat.call('browser_open', { url: `${at}/empty` })).toMatchObject({
      ok: true,
      output: expect.stringContaining('(nothing on this page can be read)'),
    });
  });

  it('shows the head and the tail of a long page first, and then all of it', async () => {
    const { ok, output, metadata } = await chat.call('browser_open', { url: `${at}/long` });
    expect({ ok, truncated: metadata?.truncated }).toEqual({ ok: true, truncated: false });
    const shown = output.slice(0, 8000);
    expect(shown).toContain('heading "Beginning"');
    expect(shown).toContain('heading "The very end"');
    expect(shown).not.toContain('Row 1000"');
    expect(output.slice(8000)).toContain('Row 1000"');
    expect(output.length).toBeLessThan(110_000);
  });

  it('says what is wrong with an address, and what stands in the way of a page', async () => {
    for (const url of [
      'file:///etc/passwd',
      'chrome://version',
      'javascript:alert(1)',
      'data:text/html,hi',
      'view-source:http://site.test',
      'http://ada:pw@site.test/',
      '--help',
      '',
    ])
      await expect(chat.call('browser_open', { url }), url).rejects.toThrow('http or https');
    expect(await (await bench.chat()).call('browser_snapshot', {})).toMatchObject({
      ok: false,
      output: expect.stringContaining('No page is open in the browser of this chat. Open one with browser_open.'),
    });
    expect(await chat.call('browser_open', { url: 'https://nowhere.invalid/' })).toMatchObject({
      ok: false,
      output: 'nowhere.invalid could not be opened: its name does not exist, or no server answers there.',
    });
  });

  it('gives what is there of a page that never ends', async () => {
    const { ok, output } = await chat.call('browser_open', { url: `${at}/endless` });
    expect({ ok, output }).toEqual({
      ok: true,
      output: expect.stringContaining('The page was not loaded completely in time.'),
    });
    expect(output).toContain('half of it');
  });

  it('is one for each chat: no page, cookie or storage of another chat is in it', async () => {
    const [ada, bob] = [chat, await bench.chat()];
    expect((await ada.call('browser_open', { url: `${at}/cookie` })).output).toContain('cookie: none');
    const [back, other] = await Promise.all([
      ada.call('browser_open', { url: `${at}/cookie` }),
      bob.call('browser_open', { url: `${at}/cookie` }),
    ]);
    expect(back.output).toContain('cookie: who=ada');
    expect(back.output).toContain('stored: kept');
    expect(other.output).toContain('cookie: none');
    expect(other.output).toContain('stored: undefined');
    await bob.call('browser_open', { url: `${at}/script` });
    expect((await ada.call('browser_snapshot', {})).output).toContain('cookie: who=ada');
    const third = await bench.chat();
    expect(await third.call('browser_open', { url: `${at}/` })).toEqual({
      ok: false,
      ours: true,
      output: expect.stringContaining(
        'all 2 browsers are in use (FETCH_BROWSER_SLOTS), and one ends after 15 minutes without use',
      ),
    });
  });
});
