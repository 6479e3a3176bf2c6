import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script } from '../../support/app.ts';
import { goTo, letIn, NO_CHROMIUM, newPage, openBrowser } from '../../support/owner-page.ts';
import { fillPage, type PageContent, type PageTexts } from '../../support/page-content.ts';
import { until } from '../../support/until.ts';
import type { Contact } from '../../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../support/whatsapp-app.ts';

/**
 * Texts and pages of others that want to harm the owner's page. tests/conformance/security.test.ts sends what a browser
 * would; here a real one decides what to send and what to run.
 */

const EVIL = '<img src=x onerror=window.__pwned=1>';
const MARKDOWN = [
  `${EVIL}<script>window.__pwned=1</script><svg onload=window.__pwned=1>`,
  '[run](javascript:window.__pwned=1) [data](data:text/html,<script>window.__pwned=1</script>) [vb](vbscript:x) [file](file:///etc/passwd)',
  '![picture](https://tracker.example/x.png) ![picture](javascript:window.__pwned=1)',
  '[site](https://site.example/a?b=c) [mail](mailto:ann@site.example) <https://auto.example/>',
  '<a href="javascript:window.__pwned=1">raw</a> <iframe src="https://frame.example/"></iframe>',
  `| ${EVIL} |\n|---|\n| <style>*{display:none}</style> |`,
  `\`\`\`html\n${EVIL}\n\`\`\``,
].join('\n\n');
const TEXTS: PageTexts = {
  chat: `chat ${EVIL}`,
  said: MARKDOWN,
  routine: `routine ${EVIL}`,
  reminder: `read ${EVIL}`,
  goal: `goal ${EVIL}`,
  workspace: `ws${EVIL}`,
  branch: `branch/${EVIL}`,
  file: `src/${EVIL}.ts`,
  report: MARKDOWN,
  output: `output ${EVIL}`,
  question: `why ${EVIL}?`,
  choices: [`choice ${EVIL}`, '"><script>window.__pwned=1</script>'],
  evidence: `evidence ${EVIL}`,
};

let world: WhatsAppApp;
let ann: Contact;
let browser: Browser;
let content: PageContent;
/** a site of somebody else, on another port of this machine, whose cookies are those of the page */
let foreign: { server: Server; url: string };
beforeAll(async () => {
  if (NO_CHROMIUM) return;
  [world, browser, foreign] = await Promise.all([
    startWhatsAppApp((fixture) => {
      ann = fixture.contact(`Ann ${EVIL}`);
      return {
        TRUSTED_PHONE_NUMBERS: ann.pn.split('@')[0]!,
        WHATSAPP_NUMBER: 'dedicated',
        FETCH_AUTONOMY: 'supervised',
      };
    }),
    openBrowser(),
    startForeignSite(),
  ]);
  await ann.send(script([{ say: EVIL }]));
  content = await fillPage(world.app, TEXTS);
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await new Promise((resolve) => (foreign ? foreign.server.close(resolve) : resolve(null)));
  await world?.close();
});

async function startForeignSite(): Promise<typeof foreign> {
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>site</title><p>site</p>'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe.skipIf(NO_CHROMIUM)('a text of somebody else', () => {
  it('is shown as text in each part of the page, runs nothing and loads nothing', async () => {
    const { app } = world;
    await until('Ann has a chat', async () =>
      app.store.db.selectFrom('chats').select('id').where('channel', '=', 'whatsapp').executeTakeFirst(),
    );
    const { page, problems, close } = await letIn(browser, app);
    const views: Array<[string[], string]> = [
      [['now'], TEXTS.question],
      [['now'], TEXTS.choices[1]],
      [['now'], TEXTS.evidence],
      [['chats'], TEXTS.chat],
      [['chats'], ann.name],
      [['chats', content.thread], '<svg onload=window.__pwned=1>'],
      [['chats', content.asking.thread], TEXTS.choices[0]],
      [['tasks'], TEXTS.goal],
      [['tasks', content.task.id], TEXTS.branch],
      [['tasks', content.task.id], TEXTS.output],
      [['tasks', content.task.id, 'log'], TEXTS.file],
      [['tasks', content.task.id, 'changes'], TEXTS.file],
      [['tasks', 'workspaces'], TEXTS.workspace],
      [['schedules'], TEXTS.routine],
      [['schedules'], TEXTS.reminder],
      [['spend'], TEXTS.goal],
      [['settings', 'trust'], TEXTS.chat],
      [['settings', 'logs'], ''],
    ];
    for (const [parts, text] of views) {
      await goTo(page, ...parts);
      await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
      // what is folded is opened: output of tools, files, earlier steps
      const folded = page.locator('main [aria-expanded=false]');
      while ((await folded.count()) > 0) await folded.first().click();
      const harm = await page.evaluate(
        `[typeof window.__pwned, document.querySelectorAll('#app :is(script, iframe, style, [onerror], [onload], img[src="x"], img[src^="http"])').length]`,
      );
      expect(harm, `${parts.join('/')}: ${text}`).toEqual(['undefined', 0]);
    }
    expect(problems).toEqual([]);
    await close();
  });

  it('has links to the web only, which give the page away to nobody', async () => {
    const { page, problems, close } = await letIn(browser, world.app);
    for (const parts of [
      ['chats', content.thread],
      ['tasks', content.task.id],
    ]) {
      await goTo(page, ...parts);
      await page.getByText('site', { exact: true }).first().waitFor();
      const links = (await page.evaluate(
        `[...document.querySelectorAll('.markdown a')].map((a) => [a.getAttribute('href'), a.rel, a.target].join(' '))`,
      )) as string[];
      // the last one is the bare address in the text of a tag
      const safe = [
        'https://tracker.example/x.png',
        'https://site.example/a?b=c',
        'https://auto.example/',
        'https://frame.example/',
      ];
      expect([...new Set(links)].sort()).toEqual(safe.map((address) => `${address} noopener noreferrer _blank`).sort());
    }
    expect(problems).toEqual([]);
    await close();
  });

  it('that came into the page as a script does not run', async () => {
    const { page, problems, close } = await letIn(browser, world.app);
    const tries = [
      `{ const made = document.createElement('script'); made.textContent = 'window.__pwned = 1'; document.body.append(made); }`,
      `document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.__pwned=1">')`,
      `{ const made = document.createElement('a'); made.href = 'javascript:window.__pwned=1'; document.body.append(made); made.click(); }`,
      `document.body.setAttribute('onclick', 'window.__pwned=1'); document.body.click()`,
    ];
    for (const attempt of tries) await page.evaluate(attempt).catch(() => {});
    await until('the policy has refused something', () =>
      problems.some((problem) => problem.includes('Content Security Policy')),
    );
    expect(await page.evaluate('typeof window.__pwned')).toBe('undefined');
    await close();
  });
});

describe.skipIf(NO_CHROMIUM)('a page of somebody else in the browser of the owner', () => {
  it('changes and reads nothing, although it is on the same machine and browsers send the cookie to every port of it', async () => {
    const { app } = world;
    const { context, close } = await letIn(browser, app);
    const threads = async () => (await app.store.db.selectFrom('threads').select('id').execute()).length;
    const before = await threads();
    const site = await context.newPage();
    await site.goto(foreign.url);
    const sent: number[] = [];
    site.on('response', (response) => response.url().startsWith(app.baseUrl) && sent.push(response.status()));
    const attempt = (options: string) =>
      site.evaluate(`fetch('${app.baseUrl}/v1/threads', ${options}).then((r) => r.text(), (e) => e.name)`);
    expect(await attempt(`{ credentials: 'include' }`)).toBe('TypeError');
    expect(
      await attempt(
        `{ method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{}' }`,
      ),
    ).toBe('TypeError');
    // is sent without asking the server first
    expect(await attempt(`{ method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }`)).toBe('TypeError');
    await site.evaluate(
      `{ document.body.innerHTML = '<form method=post enctype=text/plain action="${app.baseUrl}/v1/threads"><input name="{}"></form>'; document.forms[0].submit(); }`,
    );
    await site.waitForURL(`${app.baseUrl}/v1/threads`);
    await until('the form is refused', () => sent.at(-1) === 401);
    expect(sent.every((status) => status >= 400 || status === 204 || status === 200)).toBe(true);
    expect(await threads()).toBe(before);
    await close();
  });

  it('shows the page in no frame', async () => {
    const { app } = world;
    const { context, close } = await letIn(browser, app);
    const site = await context.newPage();
    const refused: string[] = [];
    site.on('console', (message) => refused.push(message.text()));
    await site.goto(foreign.url);
    await site.evaluate(
      `{ const frame = document.createElement('iframe'); frame.src = '${app.baseUrl}/'; document.body.append(frame); }`,
    );
    await until('the browser refuses the frame', () =>
      refused.some((text) => /frame-ancestors|X-Frame-Options/i.test(text)),
    );
    for (const frame of site.frames().slice(1)) expect(await frame.content()).not.toContain('id="app"');
    await close();
  });

  it('whose name leads to this machine (DNS rebinding) gets neither the page nor an answer', async () => {
    const { app } = world;
    const executed = await openBrowser([`--host-resolver-rules=MAP rebound.example 127.0.0.1`]);
    const { page } = await newPage(executed, app);
    const { port } = new URL(app.baseUrl);
    const opened = await page.goto(`http://rebound.example:${port}/?token=test-token`);
    expect(opened?.status()).toBe(421);
    const read = `fetch('/v1/threads', { headers: { authorization: 'Bearer test-token' } }).then((r) => r.status)`;
    expect(await page.evaluate(read)).toBe(421);
    await executed.close();
  });
});
