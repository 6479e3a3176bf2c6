import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { taintUnattended } from '../../../src/activities/turn/context/provenance.ts';
import { browserKey } from '../../../src/adapters/kennel/browser/container.ts';
import { LABEL } from '../../../src/adapters/kennel/docker/containers.ts';
import { isCurrentConversation } from '../../../src/store/chats/conversation-start.ts';
import { attachmentId, saveAttachment } from '../../../src/store/chats/messages/attachments.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { addRules } from '../../../src/store/kennel/egress-rules.ts';
import { selectWorkspace } from '../../../src/store/kennel/workspaces/workspaces.ts';
import { json } from '../../../src/store/postgres/database.ts';
import { beginAnew } from '../../../src/store/turns/replies.ts';
import { browserTools } from '../../../src/tools/browser/browser.ts';
import type { ToolContext, ToolOutcome } from '../../../src/tools/tool.ts';
import { type BrowserBench, type Site, serve, startBrowserBench } from '../../support/browser-bench.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { NO_DOCKER } from '../../support/docker.ts';
import type { ToolBench } from '../../support/tool-bench.ts';
import { until } from '../../support/until.ts';

const FORM = `<title>Form</title><form action="/sent"><label>Name <input name="name"></label><button>Send</button></form>
  <button onclick="document.title = confirm('sure?') ? 'yes' : 'no'">Ask me</button>
  <a href="/far">Far</a>`;
const FAR = `<title>Far</title><h1>top</h1><div style="height:3000px"></div><script>
  addEventListener('scroll', () => { document.querySelector('h1').textContent = 'at ' + Math.round(scrollY) });
  addEventListener('click', (e) => { document.title = 'clicked ' + e.clientX + ' ' + e.clientY })</script>`;

const THINGS = `<title>Things</title><h1>Things</h1><label>Size <select><option>small</option><option>large</option></select></label>
  <label>Note <input name="note" value="first"></label><p class="item">one</p><p class="item"><b>two</b></p><a href="/far">Far</a>
  <main><section><div><p>deep down</p></div></section></main><div style="height:3000px"></div><script>
  addEventListener('keydown', (e) => { document.title = 'pressed ' + e.key });
  document.querySelector('select').addEventListener('change', (e) => { document.title = 'chose ' + e.target.value })</script>`;

/** A page that knows who came before by a cookie and by its storage. */
const DOOR = `<title>Door</title><h1></h1><script>
  localStorage.visits = Number(localStorage.visits ?? 0) + 1;
  document.querySelector('h1').textContent = document.cookie + ' visit ' + localStorage.visits</script>`;
const SHELF = `<title>Shelf</title><form method="post" action="/taken" enctype="multipart/form-data">
  <label>Paper <input type="file" name="paper"></label><button>Hand in</button></form>`;

describe.skipIf(NO_DOCKER)('acting in the browser', () => {
  let database: TestDatabase;
  let bench: BrowserBench;
  let chat: ToolBench;
  let site: Site;
  let at: string;

  beforeAll(async () => {
    database = await startTestDatabase();
    bench = await startBrowserBench(database.store.db, {
      settings: { FETCH_BROWSER_IDLE_MINUTES: '5', FETCH_BROWSER_SLOTS: '12', FETCH_ENCRYPTION_KEY: 'ab'.repeat(32) },
    });
    site = await serve({
      '/': FORM,
      '/far': FAR,
      '/things': THINGS,
      '/shelf': SHELF,
      '/door': (request, response) =>
        response
          .writeHead(200, {
            'content-type': 'text/html',
            ...(request.url!.endsWith('?in') && { 'set-cookie': 'key=Ada; Path=/' }),
          })
          .end(DOOR),
      '/taken': async (request, response) => {
        const parts = await request.toArray();
        const [, name] = /filename="([^"]*)"\r\n/.exec(Buffer.concat(parts).toString()) ?? [];
        const has = Buffer.concat(parts).includes('first line of the paper');
        response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>Taken</title><h1>${name} ${has}</h1>`);
      },
      '/endless': (_, response) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).write('<h1>half of it</h1>'),
      '/sent': (request, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
          .end(`<title>Sent</title><h1>got ${new URL(request.url!, 'http://x').searchParams.get('name')}</h1>`),
    });
    at = `http://site.test:${site.port}`;
    chat = await bench.chat();
  }, 900_000);

  afterAll(async () => {
    await site?.close();
    await bench?.close();
    await database?.close();
  });

  const open = async (path = '/', by = chat) => (await by.call('browser_open', { url: `${at}${path}` })).output;
  const refOf = (output: string, element: string): number =>
    Number(new RegExp(`${element}.* \\[(?:[^\\]]*, )?ref=(\\d+)`).exec(output)?.[1]);
  const act = (args: Record<string, unknown>) => chat.call('browser_action', args);
  const runner =
    (context: ToolContext) =>
    (name: string, args: unknown): Promise<ToolOutcome> => {
      const tool = browserTools.find((each) => each.name === name)!;
      return tool.run(tool.schema.parse(args) as never, context);
    };
  const containerOf = async (chatId: string) =>
    (
      await bench.kennel.kennel.engine.docker.listContainers({
        all: true,
        filters: { label: [`${LABEL.browser}=${browserKey(chatId)}`] },
      })
    )[0];

  it('types, clicks, goes back and forward, and shows the page after each', async () => {
    const page = await open();
    const name = refOf(page, 'textbox "Name"');
    expect(await act({ action: 'type', ref: name, text: '--help "Ada" ünï' })).toMatchObject({
      ok: true,
      output: expect.stringContaining('--help \\"Ada\\" ünï'),
    });
    expect(await chat.preview('browser_action', { action: 'click', ref: refOf(page, 'button "Send"') })).toBe(
      `Click: - button "Send" [ref=${refOf(page, 'button "Send"')}]\nPage: ${at}/`,
    );
    expect(await act({ action: 'click', ref: refOf(page, 'button "Send"') })).toMatchObject({
      ok: true,
      output: expect.stringContaining('heading "got --help \\"Ada\\" ünï"'),
      metadata: { action: 'click', title: 'Sent' },
    });
    expect((await act({ action: 'back' })).metadata).toMatchObject({ title: 'Form' });
    expect((await act({ action: 'forward' })).metadata).toMatchObject({ title: 'Sent' });
  });

  it('scrolls, and clicks at a place', async () => {
    await open('/far');
    const down = await act({ action: 'scroll_down' });
    expect(down.output).toMatch(/heading "at [1-9]\d+"/);
    expect((await act({ action: 'scroll_up', y: 10_000 })).output).toContain('heading "at 0"');
    expect((await act({ action: 'scroll_down', y: 150 })).output).toContain('heading "at 150"');
    expect((await act({ action: 'scroll_up' })).output).toContain('heading "at 0"');
    await act({ action: 'click', x: 30, y: 40 });
    expect((await chat.call('browser_snapshot', {})).metadata).toMatchObject({ title: 'clicked 30 40' });
  });

  it('adds to a field, presses keys, chooses, loads again and closes', async () => {
    const page = await open('/things');
    const note = refOf(page, 'textbox "Note"');
    expect((await act({ action: 'append', ref: note, text: ' and second' })).output).toContain('first and second');
    expect((await act({ action: 'press', text: 'Escape' })).metadata).toMatchObject({ title: 'pressed Escape' });
    expect(
      (await act({ action: 'select', ref: refOf(page, 'combobox "Size"'), text: 'large' })).metadata,
    ).toMatchObject({
      title: 'chose large',
    });
    expect(await act({ action: 'reload' })).toMatchObject({ ok: true, metadata: { title: 'Things' } });
    expect(await act({ action: 'close' })).toMatchObject({ ok: true, output: 'The page is closed.' });
    expect(await chat.call('browser_snapshot', {})).toMatchObject({
      ok: false,
      output: expect.stringContaining('No page is open'),
    });
  });

  const attached = async (of: ToolBench, name: string, data: Buffer): Promise<string> => {
    const id = attachmentId(of.threadId, name);
    const file = {
      id,
      threadId: of.threadId,
      kind: 'document',
      mime: 'text/plain',
      name,
      data,
      preview: null,
    } as const;
    await saveAttachment(database.store.db, { ...file, text: null });
    return id;
  };

  it('uploads a file of its chat, after a person was shown which one', async () => {
    const page = await open('/shelf');
    const ref = refOf(page, 'button "Paper');
    const text = await attached(chat, '../-my paper.txt', Buffer.from('first line of the paper\nand more'));
    expect(await chat.preview('browser_action', { action: 'upload', ref, text })).toMatch(
      /^Upload to: .*Paper.*\nFile: _-my paper\.txt \(32 bytes\)\nfirst line of the paper\nand more\nPage: .*\/shelf$/,
    );
    const upload = browserTools.find(({ name }) => name === 'browser_action')!;
    const asks = async (args: Record<string, unknown>) =>
      (await taintUnattended(database.store.db, chat.chatId, [], upload, args))?.asks;
    expect(await asks({ action: 'upload', ref, text })).toEqual(['browse']);
    expect(await asks({ action: 'click', ref })).toBeUndefined();
    expect(await act({ action: 'upload', ref, text })).toMatchObject({ ok: true, metadata: { title: 'Shelf' } });
    const sent = await act({ action: 'click', ref: refOf(page, 'button "Hand in"') });
    expect(sent.output).toContain('heading "_-my paper.txt true"');
    const of = await attached(await bench.chat(), 'theirs.txt', Buffer.from('x'));
    expect(await act({ action: 'upload', ref, text: of })).toMatchObject({
      ok: false,
      output: `There is no attachment ${of} in this chat.`,
    });
  });

  it('saves a log-in of its chat, which only a later browser of the same chat can load', async () => {
    const [ada, bob] = [await bench.chat(), await bench.chat()];
    const login = (by: ToolBench, action: string) => by.call('browser_action', { action, text: 'shop' });
    const heading = async (by: ToolBench) => /heading "([^"]*)"/.exec(await open('/door', by))?.[1]?.trim();
    await open('/door?in', ada);
    expect(await login(ada, 'save_login')).toMatchObject({
      ok: true,
      output: 'Saved as shop, for site.test. Only this chat can load it.',
    });
    const { db } = database.store;
    const row = await db.selectFrom('browser_logins').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ chat_id: ada.chatId, hosts: ['site.test'] });
    expect(row.sealed.includes('Ada')).toBe(false);

    await bench.kennel.kennel.engine.docker.getContainer((await containerOf(ada.chatId))!.Id).kill();
    expect(await heading(ada)).toBe('visit 1');
    expect(await ada.preview('browser_action', { action: 'load_login', text: 'shop' })).toBe(
      'Load the log-in: shop\nIt is for: site.test',
    );
    expect(await login(ada, 'load_login')).toMatchObject({ ok: true, metadata: { hosts: ['site.test'] } });
    expect(await heading(ada)).toMatch(/^key=Ada visit [23]$/);

    expect(await login(bob, 'load_login')).toMatchObject({
      ok: false,
      output: 'This chat has no saved log-in shop. It has none yet.',
    });
    // a row that was moved to another chat cannot be opened there
    await db
      .insertInto('browser_logins')
      .values({ ...row, hosts: json(row.hosts), chat_id: bob.chatId })
      .execute();
    expect((await login(bob, 'load_login')).output).toContain('cannot be read with the key of this computer');
    expect(await login(ada, 'drop_login')).toMatchObject({ ok: true });
    expect((await login(ada, 'load_login')).output).toContain('has no saved log-in shop');
  });

  it('reads one thing, or a part of the page', async () => {
    const page = await open('/things');
    const get = async (args: object) => (await chat.call('browser_snapshot', args)).output;
    expect(await get({ get: 'text', selector: 'h1' })).toBe('Things');
    expect(await get({ get: 'html', selector: '.item:nth-of-type(2)' })).toContain('<b>two</b>');
    expect(await get({ get: 'value', ref: refOf(page, 'textbox "Note"') })).toBe('first');
    expect(await get({ get: 'attr', ref: refOf(page, 'link "Far"'), attr: 'href' })).toMatch(/\/far$/);
    expect(await get({ get: 'attr', selector: 'h1', attr: 'href' })).toBe('It has no such attr.');
    expect(await get({ get: 'count', selector: '.item' })).toBe('2');
    expect(await get({ get: 'text' })).toContain('deep down');
    expect(await get({ ref: refOf(page, 'link "Far"') })).toBe('Far');
    expect(await chat.call('browser_snapshot', { get: 'text', ref: 999_999 })).toMatchObject({
      ok: false,
      output: expect.stringContaining('There is no element 999999'),
    });
    expect(await get({ selector: 'main' })).not.toContain('combobox');
    expect(await get({ selector: 'main' })).toContain('deep down');
    const usable = await get({ interactive: true });
    expect(usable).toContain('combobox "Size"');
    expect(usable).not.toContain('deep down');
    expect((await get({ depth: 1 })).length).toBeLessThan((await get({})).length);
  });

  it('answers a question of the page with no, because nobody could see it', async () => {
    const page = await open();
    expect((await act({ action: 'click', ref: refOf(page, 'button "Ask me"') })).metadata).toMatchObject({
      title: 'no',
    });
  });

  it('acts on no number of an earlier page', async () => {
    const stale = refOf(await open(), 'button "Send"');
    await open('/far');
    const before = site.asked.length;
    expect(await act({ action: 'click', ref: stale })).toMatchObject({
      ok: false,
      output: expect.stringContaining(`There is no element ${stale} on the page now.`),
    });
    expect(await act({ action: 'type', ref: 999_999, text: 'x' })).toMatchObject({
      ok: false,
      output: expect.stringContaining('There is no element 999999'),
    });
    expect(site.asked.length).toBe(before);
  });

  it.each([
    [{ action: 'click' }, 'click needs ref, or x and y'],
    [{ action: 'click', x: 1 }, 'click needs ref, or x and y'],
    [{ action: 'click', ref: 'e4' }, 'ref'],
    [{ action: 'click', ref: -1 }, 'ref'],
    [{ action: 'type', text: 'x' }, 'type needs ref'],
    [{ action: 'type', ref: 1, text: '  ' }, 'type needs text'],
    [{ action: 'type', ref: 1, text: 'x'.repeat(2001) }, '2000'],
    [{ action: 'append', ref: 1 }, 'append needs text'],
    [{ action: 'select', text: 'large' }, 'select needs ref'],
    [{ action: 'press' }, 'press needs a key'],
    [{ action: 'press', text: '--session' }, 'press needs a key'],
    [{ action: 'upload', ref: 1, text: '/etc/passwd' }, 'upload needs the id of an attachment'],
    [{ action: 'upload', text: 'att_1' }, 'upload needs ref'],
    [{ action: 'save_login', text: '../a' }, 'save_login needs a short name'],
    [{ action: 'load_login' }, 'load_login needs a short name'],
    [{ action: 'scroll', direction: 'down' }, 'action'],
    [{ action: 'click', ref: 1, confirm: true }, 'confirm'],
  ])('refuses %j', async (args, why) => {
    await expect(act(args)).rejects.toThrow(why);
  });

  it.each([
    [{ get: 'attr', ref: 1 }, 'attr needs the name'],
    [{ ref: 1, attr: 'a b' }, 'attr'],
    [{ selector: '--headers' }, 'selector'],
  ])('reads nothing by %j', async (args, why) => {
    await expect(chat.call('browser_snapshot', args)).rejects.toThrow(why);
  });

  it('stores a picture of the page for the chat, once for each call', async () => {
    await open();
    const taken = await chat.call('browser_screenshot', {}, { callId: 'call_picture' });
    const id = taken.metadata?.attachment as string;
    expect(taken).toMatchObject({
      ok: true,
      output: expect.stringContaining(`![what it shows](attachment:${id})`),
      metadata: { mime: 'image/png', width: 1280 },
    });
    expect((await chat.call('browser_screenshot', {}, { callId: 'call_picture' })).metadata?.attachment).toBe(id);
    const rows = await database.store.db
      .selectFrom('attachments')
      .selectAll()
      .where('thread_id', '=', chat.threadId)
      .where('kind', '=', 'image')
      .execute();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ id, kind: 'image', mime: 'image/png' });
    expect(rows[0]!.data.subarray(1, 4).toString()).toBe('PNG');
  });

  it('takes all of a long page, and makes a PDF of it', async () => {
    await open('/things');
    const taken = async (form: string) => {
      const { ok, metadata } = await chat.call('browser_screenshot', { form }, { callId: `call_${form}` });
      const id = metadata?.attachment as string;
      const row = database.store.db.selectFrom('attachments').selectAll().where('id', '=', id);
      return { ok, metadata, ...(await row.executeTakeFirstOrThrow()) };
    };
    const whole = await taken('page');
    expect(whole.metadata?.height).toBeGreaterThan(2900);
    const pdf = await taken('pdf');
    expect(pdf).toMatchObject({ ok: true, kind: 'document', mime: 'application/pdf', name: 'page.pdf' });
    expect(pdf.data.subarray(0, 5).toString()).toBe('%PDF-');
  });

  it('checks a page and says which check failed', async () => {
    const passed = await chat.call('browser_test', {
      url: `${at}/`,
      mustInclude: ['name', ' SEND '],
      screenshot: true,
    });
    expect(passed).toMatchObject({ ok: true, metadata: { failed: [], attachment: expect.stringMatching(/^att_/) } });
    expect(passed.output).toMatch(/^PASS: all 3 checks of site\.test:\d+\n1\. PASS open /);
    const failed = await chat.call('browser_test', { url: `${at}/`, mustInclude: ['Send', 'Basket'] });
    expect(failed).toMatchObject({ ok: false, metadata: { failed: ['the page includes "Basket"'] } });
    expect(failed.output).toContain('2. PASS the page includes "Send"\n3. FAIL the page includes "Basket"');
    expect(await chat.call('browser_test', { url: 'http://10.0.0.1/', mustInclude: ['x'] })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/^FAIL: 2 of 2 checks[\s\S]*not on the public internet/),
    });
    await expect(chat.call('browser_test', { url: `${at}/`, mustInclude: Array(31).fill('x') })).rejects.toThrow('30');
  });

  it('keeps a host closed that a person refused for the workspace, and no other', async () => {
    const { db } = database.store;
    await selectWorkspace(db, chat.chatId, { host: 'local', name: 'demo' });
    const refused = { host: 'never.test', port: site.port };
    await addRules(db, { id: 'task_1', host: 'local', workspace: 'demo' }, [refused], {
      verdict: 'never',
      questionId: 'q_1',
      by: null,
    });
    await until('the rule counts', async () => {
      const { ok, output } = await chat.call('browser_open', { url: `http://never.test:${site.port}/` });
      return !ok && output.includes(`The person has not allowed never.test:${site.port}.`);
    });
    expect(await chat.call('browser_open', { url: `${at}/` })).toMatchObject({ ok: true });
  });

  it('is found again, with its page, by a process that was just started', async () => {
    const person = await bench.chat();
    await open('/', person);
    await bench.browsers.closeAll();
    const next = bench.nextProcess();
    const run = runner({ ...person.context('call_next'), browsers: next });
    expect(await run('browser_snapshot', {})).toMatchObject({
      ok: true,
      metadata: { url: `${at}/`, newBrowser: false },
    });
    // its way out is open again, too
    expect(await run('browser_open', { url: `${at}/far` })).toMatchObject({
      ok: true,
      metadata: { title: 'Far', newBrowser: false },
    });
    await next.closeAll();
  });

  it('is another one in a run of a workflow, whose picture belongs to the chat', async () => {
    const person = await bench.chat();
    await open('/', person);
    const run = runner({ ...person.context('call_run'), threadId: 'run_1', turnId: 'run_1', unattended: true });
    const tested = await run('browser_test', { url: `${at}/far`, mustInclude: ['top'], screenshot: true });
    expect(tested).toMatchObject({ ok: true, metadata: { failed: [] } });
    const picture = database.store.db
      .selectFrom('attachments')
      .select('thread_id')
      .where('id', '=', tested.metadata?.attachment as string);
    expect(await picture.executeTakeFirst()).toEqual({ thread_id: person.threadId });
    expect((await person.call('browser_snapshot', {})).metadata).toMatchObject({ url: `${at}/`, newBrowser: false });
  });

  it('says in plain words that a browser has ended, and opens a new one', async () => {
    const person = await bench.chat();
    await open('/', person);
    await bench.kennel.kennel.engine.docker.getContainer((await containerOf(person.chatId))!.Id).kill();
    expect(await person.call('browser_action', { action: 'scroll_down' })).toMatchObject({
      ok: false,
      output: expect.stringContaining(
        'No page is open in the browser of this chat. Open one with browser_open. A browser ends after 5 minutes without use',
      ),
    });
    expect(await open('/', person)).toContain(
      'This is a new browser: it has no page, cookie or log-in of an earlier one.',
    );
  });

  it('does not hold up the care of the host while it is at work', async () => {
    const waiting = chat.call('browser_open', { url: `${at}/endless` });
    await until('the page is asked for', () => site.asked.includes('GET /endless'));
    const began = performance.now();
    await bench.browsers.tend(async () => false);
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(await waiting).toMatchObject({ ok: true });
  });

  it('ends at a new conversation', async () => {
    const { db } = database.store;
    const person = await bench.chat();
    await open('/', person);
    await bench.browsers.tend((conversation) => isCurrentConversation(db, conversation));
    expect((await containerOf(person.chatId))?.State).toBe('running');
    await onThread(db, person.threadId, (tx) => beginAnew(tx.now, person.threadId));
    expect(await person.call('browser_snapshot', {})).toMatchObject({
      ok: false,
      output: expect.stringContaining('No page is open'),
    });
    await bench.browsers.tend((conversation) => isCurrentConversation(db, conversation));
    expect(await containerOf(person.chatId)).toBeUndefined();
  });

  it('ends by itself when nobody uses it', async () => {
    const short = await startBrowserBench(database.store.db, { settings: { FETCH_BROWSER_IDLE_MINUTES: '0.05' } });
    try {
      const person = await short.chat();
      await open('/', person);
      await until('it has ended', async () => (await containerOf(person.chatId))?.State === 'exited', 30_000);
      await short.browsers.tend(async () => true);
      expect(await containerOf(person.chatId)).toBeUndefined();
    } finally {
      await short.close();
    }
  });
});
