import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PushMessage } from '../../../src/contracts/owner-push.ts';
import { script, startTestApp, type TestApp } from '../../support/app.ts';
import {
  accessibilityFindings,
  DESKTOP,
  goTo,
  letIn,
  NO_CHROMIUM,
  newPage,
  openBrowser,
  PHONE,
  write,
} from '../../support/owner-page.ts';
import { fillMuch, fillPage, type PageContent, PLAIN_TEXTS } from '../../support/page-content.ts';
import { ownMachineWordsIn } from '../../support/transcript.ts';
import { until } from '../../support/until.ts';

/** Each part of the owner's page, on a phone and on a desktop. */

let app: TestApp;
let browser: Browser;
let content: PageContent;
beforeAll(async () => {
  if (NO_CHROMIUM) return;
  [app, browser] = await Promise.all([startTestApp({ FETCH_AUTONOMY: 'supervised' }), openBrowser()]);
  content = await fillPage(app, PLAIN_TEXTS);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

const { chat, goal, workspace, branch, file, routine, reminder, question, evidence, report } = PLAIN_TEXTS;

/** What each view shows. */
const views = (): Array<[parts: string[], shown: string[]]> => [
  [['now'], [question, evidence, 'Save the routine "nightly tidy"?']],
  [['chats'], [chat, question]],
  [
    ['chats', content.thread],
    ['The checkout is ready.', 'CHANGELOG.md'],
  ],
  [['chats', content.asking.thread], [question]],
  [['tasks'], [goal]],
  [
    ['tasks', content.task.id],
    [report, branch, 'npm test'],
  ],
  [['tasks', content.task.id, 'log'], [file]],
  [
    ['tasks', content.task.id, 'changes'],
    [file, 'return arrival(days);'],
  ],
  [
    ['tasks', 'workspaces'],
    [workspace, branch, '2 modified, 1 new, 1 to push'],
  ],
  [['schedules'], [routine, reminder, 'every day at 3:00']],
  [['spend'], ['$0.18', chat, 'scripted']],
  [
    ['settings', 'model'],
    ['API key', 'Address (base URL)'],
  ],
  [
    ['settings', 'trust'],
    ['Autonomy of each chat', chat],
  ],
  [
    ['settings', 'whatsapp'],
    ['Link with a QR code', 'not linked'],
  ],
  [['settings', 'telegram'], ['Token of your bot']],
  [
    ['settings', 'agents'],
    ['laptop', 'practice agent'],
  ],
  [
    ['settings', 'alerts'],
    ['Sound when you are needed', 'Notices through ntfy'],
  ],
  [['settings', 'backups'], ['No nightly backup']],
  [['settings', 'health'], ['Check everything']],
  [['settings', 'logs'], ['worker']],
  [['settings', 'all'], ['FETCH_AUTONOMY']],
];

/** Who opens these asks for what the machine says. */
const DETAILS = new Set(['settings/logs', 'settings/all']);

/** What a thumb cannot hit, what makes a phone zoom when it is touched, and what is cut off at the right. */
const TOO_SMALL = `[...document.querySelectorAll('button, a, select, input, textarea, summary, .row, .card')].flatMap((each) => {
  const { width, height, right } = (each.type === 'checkbox' ? each.closest('label') : each).getBoundingClientRect();
  const name = each.tagName + '.' + each.className + ' ' + (each.textContent || each.name || '').slice(0, 40);
  if (width === 0 || each.closest('.sr, .skip')) return [];
  if (!each.closest('.tabs') && right > innerWidth + 1) return [name + ' is cut off'];
  if (each.matches('.row, .card') || getComputedStyle(each).display === 'inline') return [];
  if (height < 43.5) return [name + ' is ' + Math.round(height) + ' px high'];
  const typed = each.matches('input:not([type="checkbox"]), textarea, select');
  return typed && parseFloat(getComputedStyle(each).fontSize) < 16 ? [name + ' has small letters'] : [];
})`;

describe.skipIf(NO_CHROMIUM)('each part of the page', () => {
  it.each([
    { name: 'a desktop', viewport: DESKTOP, schemes: ['light', 'dark'] as const },
    { name: 'a phone', viewport: PHONE, schemes: ['dark', 'light'] as const },
  ])(
    'shows what belongs to it in words of a person, fits, and has nothing that axe finds, on $name',
    async ({ viewport, schemes }) => {
      const { page, problems, close } = await letIn(browser, app, { viewport });
      const findings: string[] = [];
      for (const [parts, shown] of views()) {
        await goTo(page, ...parts);
        const where = parts.join('/');
        for (const text of shown)
          await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
        if (!(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')))
          findings.push(`${where} is wider than the screen`);
        if (!DETAILS.has(where)) {
          const theirs = Object.values(PLAIN_TEXTS).flat();
          const body = await page.locator('main').innerText();
          for (const found of ownMachineWordsIn({ body, kind: 'page', theirs, asked: [] }))
            findings.push(`${where} says ${found}`);
        }
        if (viewport === PHONE)
          findings.push(...(await page.evaluate<string[]>(TOO_SMALL)).map((found) => `${where}: ${found}`));
        for (const [at, colorScheme] of schemes.entries()) {
          await page.emulateMedia({ colorScheme });
          for (const found of await accessibilityFindings(page, at === 0 ? undefined : 'color-contrast'))
            findings.push(`${where}, ${colorScheme}: ${found}`);
        }
      }
      expect(findings).toEqual([]);
      expect(problems).toEqual([]);
      await close();
      // forty looks of axe take long on a busy machine
    },
    240_000,
  );

  it('shows no time beside a line of the log that has none', async () => {
    const { page, problems, close } = await letIn(browser, app);
    await goTo(page, 'settings', 'logs');
    await page.getByLabel('Role').selectOption('temporal');
    await page.locator('.logs p', { hasText: 'Server' }).first().waitFor();
    expect(await page.locator('.logs time[datetime^="1970"]').count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });

  it('is reached from the keyboard alone', async () => {
    const { page, problems, close } = await letIn(browser, app);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.getByRole('link', { name: 'Spend' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Spend', level: 1 }).waitFor();
    await until(
      'the keyboard goes on in it',
      async () => (await page.evaluate('document.activeElement.id')) === 'main',
    );
    expect(problems).toEqual([]);
    await close();
  });
});

describe.skipIf(NO_CHROMIUM)('a browser', () => {
  it('is let in by a link, whose token leaves the address and is nowhere in the page', async () => {
    const { context, page, problems, close } = await letIn(browser, app);
    expect(page.url()).toBe(`${app.baseUrl}/`);
    const [cookie, ...others] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    expect(others).toEqual([]);
    const kept = await page.evaluate(
      '[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.documentElement.outerHTML].join()',
    );
    for (const text of [cookie!.value, kept]) expect(text).not.toContain('test-token');
    await page.reload();
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    const encoding = `fetch(document.querySelector('script[src]').src).then((r) => r.headers.get('content-encoding'))`;
    expect(await page.evaluate(encoding)).toBe('gzip');
    expect(problems).toEqual([]);
    await close();
  });

  it('opens the first screen without what takes a phone longest: formatters of dates, and splitters of letters', async () => {
    const { page, problems, close } = await newPage(browser, app);
    await page.addInitScript(`globalThis.madeOfIntl = [];
      for (const name of ['Segmenter', 'DateTimeFormat', 'NumberFormat'])
        Intl[name] = new Proxy(Intl[name], { construct: (of, given) => madeOfIntl.push(name) && new of(...given) });
      for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'])
        Date.prototype[name] = new Proxy(Date.prototype[name], {
          apply: (of, self, given) => madeOfIntl.push(name) && of.apply(self, given),
        });`);
    await page.goto(`${app.baseUrl}/?token=test-token`);
    await page.getByText(question).first().waitFor();
    expect(await page.evaluate('madeOfIntl')).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });

  it('without a session is told how to get one', async () => {
    const { page, close } = await newPage(browser, app);
    expect((await page.goto(app.baseUrl))?.status()).toBe(401);
    await page.getByText('fetch open').first().waitFor();
    await close();
  });

  it('shows a notice that is pushed to it, and takes it back when it is over', async () => {
    const { context, page, close } = await letIn(browser, app);
    await context.grantPermissions(['notifications'], { origin: app.baseUrl });
    await page.evaluate('navigator.serviceWorker.ready.then(() => true)');
    const device = await context.newCDPSession(page);
    const registered = new Promise<string>((resolve) =>
      device.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [first] }) => {
        if (first) resolve(first.registrationId);
      }),
    );
    await device.send('ServiceWorker.enable');
    const registrationId = await registered;
    const push = (message: PushMessage) =>
      device.send('ServiceWorker.deliverPushMessage', {
        origin: app.baseUrl,
        registrationId,
        data: JSON.stringify(message),
      });
    const shown = () =>
      page.evaluate<string[]>(
        `navigator.serviceWorker.ready.then((worker) => worker.getNotifications())
          .then((all) => all.map(({ title, body }) => title + ': ' + body))`,
      );
    await push({ title: 'Done', body: 'demo: a login page', tag: 'task/tsk_1', url: '/#/tasks/tsk_1' });
    await until('it is shown', async () => (await shown()).join() === 'Done: demo: a login page');
    await push({ close: 'task/tsk_1' });
    await until('it is gone', async () => (await shown()).length === 0);
    await close();
  });

  it('is told within seconds that the network is gone, although its streams stay open', async () => {
    const { context, page, close } = await letIn(browser, app);
    await page.locator('.connection.open').waitFor();
    await context.setOffline(true);
    // without a word of the browser, the silence of a stream tells it after 40 s
    await page.getByText('You see the last known state').waitFor({ timeout: 15_000 });
    await context.setOffline(false);
    await page.locator('.connection.open').waitFor();
    await close();
  });

  it('calls a chat in which nothing was said a new chat', async () => {
    const thread = await app.thread();
    const { page, close } = await letIn(browser, app);
    await goTo(page, 'chats', thread);
    await page.getByRole('heading', { name: 'New chat', level: 2 }).waitFor();
    await page.locator('.list-row[aria-current]').filter({ hasText: 'New chat' }).waitFor();
    expect(await page.locator('body').innerText()).not.toContain('New Thread');
    await close();
  });

  it('opens the page without a connection, too, and is told so', async () => {
    const { context, page, close } = await letIn(browser, app);
    await page.evaluate('navigator.serviceWorker.ready.then(() => true)');
    // the first visit that the worker sees keeps the page
    await page.reload();
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    await context.setOffline(true);
    await page.reload();
    await page.getByText('Not connected').first().waitFor();
    await context.setOffline(false);
    await page.locator('.connection.open').waitFor();
    await close();
  });
});

// the last one, because every list is long afterwards; npm run bench -- --only page measures how quick it is
describe.skipIf(NO_CHROMIUM)('a page with much in it', () => {
  it('lists 500 chats and 100 tasks, and opens a thread of 5,000 items, where a message can be written', async () => {
    const thread = await fillMuch(app, { chats: 500, tasks: 100, items: 5_000 });
    const { page, problems, close } = await letIn(browser, app);
    await goTo(page, 'tasks');
    const rows = page.locator('.list-row');
    await rows.getByText('Task 99').waitFor();
    await page.getByRole('button', { name: 'Older tasks' }).click();
    await until('the next tasks are listed, too', async () => (await rows.count()) === 100);
    await goTo(page, 'chats', thread);
    await until('as many chats are listed as the page reads', async () => (await rows.count()) === 500);
    await page.getByText('step 4999').waitFor();
    await write(page, script([{ say: 'an answer at the end' }]));
    await page.locator('.said.agent').getByText('an answer at the end').waitFor();
    const first = { id: await app.thread(), title: 'The very first chat' };
    await app.store.db
      .updateTable('threads')
      .set({ title: first.title, updated_at: new Date(0) })
      .where('id', '=', first.id)
      .execute();
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('very FIRST');
    // it is too old for the list
    await rows.getByText(first.title).waitFor();
    expect(await rows.count()).toBe(1);
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('no such chat');
    await page.getByText('No chat matches.').waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});
