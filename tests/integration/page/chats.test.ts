import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callsThen, script } from '../../support/app.ts';
import { goTo, letIn, NO_CHROMIUM, openBrowser, PHONE, write } from '../../support/owner-page.ts';
import { startPartition } from '../../support/partition.ts';
import { until } from '../../support/until.ts';
import type { Contact } from '../../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../support/whatsapp-app.ts';

/** What an owner does on the page, in a real browser, beside a phone with WhatsApp. */

let world: WhatsAppApp;
let ann: Contact;
let browser: Browser;
beforeAll(async () => {
  if (NO_CHROMIUM) return;
  [world, browser] = await Promise.all([
    startWhatsAppApp((fixture) => {
      ann = fixture.contact('Ann');
      return { OWNER_PHONE_NUMBER: ann.pn.split('@')[0]!, WHATSAPP_NUMBER: 'dedicated', FETCH_AUTONOMY: 'supervised' };
    }),
    openBrowser(),
  ]);
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await world?.close();
});

const newChat = async (page: Page): Promise<string> => {
  await goTo(page, 'chats');
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.waitForURL(/#\/chats\/thr_/);
  return page.url().split('/').at(-1)!;
};
const answers = (page: Page) => page.locator('.said.agent');
const connected = (page: Page) => page.locator('.connection.open').waitFor();
const stays = async (page: Page): Promise<() => Promise<unknown>> => {
  await page.evaluate('globalThis.neverReloaded = true');
  return () => page.evaluate('globalThis.neverReloaded');
};

describe.skipIf(NO_CHROMIUM)('a chat on the page', () => {
  it('shows an answer as it streams, and goes on without a reload when the API is killed: nothing is lost or doubled', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app);
    const thread = await newChat(page);
    const neverReloaded = await stays(page);
    const words = Array.from({ length: 80 }, (_, at) => `word${at}`).join(' ');
    await write(page, script([{ say: words, pace: 60 }]));
    await answers(page).getByText('word5 ').waitFor();
    app.kill('api');
    await page.getByText('Not connected').first().waitFor();
    await answers(page).getByText(words, { exact: true }).waitFor();
    expect(await answers(page).count()).toBe(1);
    expect(await page.locator('.said.person').count()).toBe(1);
    await connected(page);
    // what is written while the API is away waits, and is said once
    app.kill('api');
    await write(page, script([{ say: 'and this was heard' }]));
    await answers(page).getByText('and this was heard').waitFor();
    expect(await page.locator('.said.person').count()).toBe(2);
    await page.locator('.pending-message').waitFor({ state: 'detached' });
    await connected(page);
    expect(await neverReloaded()).toBe(true);
    expect((await app.detail(thread)).turns.map(({ status }) => status)).toEqual(['completed', 'completed']);
    // a reload shows the same
    const shown = await page.locator('.log').innerText();
    await page.reload();
    await answers(page).getByText('and this was heard').waitFor();
    expect(await page.locator('.log').innerText()).toBe(shown);
    expect(problems).toEqual([]);
    await close();
  });

  it('stays open while the whole server starts again, with the question that waits', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app);
    const neverReloaded = await stays(page);
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'By train or by bus?', options: ['Train', 'Bus'] }]] },
      { say: 'You chose: $LAST' },
    ]);
    const question = page.locator('.question', { hasText: 'By train or by bus?' });
    await question.waitFor();
    await app.stop();
    await page.getByText('Not connected').first().waitFor();
    await app.start();
    await connected(page);
    await question.getByRole('button', { name: 'Bus' }).click();
    await question.waitFor({ state: 'detached' });
    expect(await app.ended(thread, turn)).toMatchObject({ status: 'completed' });
    await goTo(page, 'chats', thread);
    await answers(page).getByText('You chose: Bus').waitFor();
    expect(await neverReloaded()).toBe(true);
    expect(problems).toEqual([]);
    await close();
  });

  it('is whole within seconds after a phone froze it and its connections died, without a reload or a word about it', async () => {
    const { app } = world;
    const network = await startPartition({ host: '127.0.0.1', port: Number(new URL(app.baseUrl).port) });
    const { page, problems, close } = await letIn(browser, { ...app, baseUrl: `http://127.0.0.1:${network.port}` });
    const thread = await newChat(page);
    const neverReloaded = await stays(page);
    const words = Array.from({ length: 40 }, (_, at) => `word${at}`).join(' ');
    await write(page, script([{ say: words, pace: 60 }]));
    await answers(page).getByText('word3 ').waitFor();
    const draft = page.locator('.composer textarea');
    await draft.fill('half a thought');
    await page.evaluate(`{
      globalThis.noticed = [];
      const look = () => {
        for (const notice of document.querySelectorAll('.connection-bar:not(.hidden), .notices > *'))
          globalThis.noticed.push(notice.textContent);
      };
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
    }`);
    // Chromium freezes no page that a test drives: nothing of the page runs meanwhile, and then it is told
    const device = await page.context().newCDPSession(page);
    await device.send('Debugger.enable');
    await device.send('Debugger.pause');
    network.lose();
    await until('the turn is over', async () => (await app.detail(thread)).turns[0]?.status === 'completed');
    await device.send('Debugger.disable');
    await page.evaluate(`document.dispatchEvent(new Event('resume'))`);
    await answers(page).getByText(words, { exact: true }).waitFor({ timeout: 10_000 });
    expect(await draft.inputValue()).toBe('half a thought');
    expect(await page.evaluate('globalThis.noticed')).toEqual([]);
    expect(await neverReloaded()).toBe(true);
    expect(problems).toEqual([]);
    await close();
    await network.close();
  });

  it('is steered while it works, and stopped', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app);
    const thread = await newChat(page);
    await write(page, script([{ say: `one two ${'more '.repeat(25)}`, pace: 150 }]));
    await page.getByPlaceholder('Add a message').waitFor();
    await answers(page).getByText('two').waitFor();
    await write(page, script([{ say: 'steered '.repeat(300), pace: 100 }]));
    await answers(page).getByText('steered steered').waitFor();
    expect((await app.detail(thread)).turns).toMatchObject([{ status: 'in_progress', steer_count: 1 }]);
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('Stopped. What was done is kept.').waitFor();
    await page.getByPlaceholder('Write a message').waitFor();
    expect((await app.detail(thread)).turns).toMatchObject([{ status: 'interrupted' }]);
    expect(await answers(page).last().innerText()).toContain('steered steered');
    await page.reload();
    await answers(page).getByText('steered steered').waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  it('takes files up to the limits of the server, says which is too large, and shows what was sent', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app);
    await newChat(page);
    const choose = page.locator('.composer input[type=file]');
    // made in the browser: so many bytes need not go there
    await page.evaluate(`{
      const chosen = new DataTransfer();
      const file = (name, type, megabytes) => new File([new Uint8Array(megabytes * 1024 * 1024)], name, { type });
      for (const each of [file('big.png', 'image/png', 17), file('long.txt', 'text/plain', 24)]) chosen.items.add(each);
      const input = document.querySelector('.composer input[type=file]');
      input.files = chosen.files;
      input.dispatchEvent(new Event('change', { bubbles: true }));
    }`);
    await page.getByText('big.png is larger than 16 MB.').waitFor();
    await page.getByRole('button', { name: 'Remove long.txt' }).click();
    expect(await page.locator('.chip').count()).toBe(0);
    await choose.setInputFiles({
      name: 'note.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('the delivery is on Friday'),
    });
    await write(page, script([{ say: 'I read it' }]));
    await answers(page).getByText('I read it').waitFor();
    await page.locator('.said.person').getByRole('link', { name: 'note.txt' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

describe.skipIf(NO_CHROMIUM)('what waits for the owner', () => {
  it('is a question that one browser answers, and that closes in the other', async () => {
    const { app } = world;
    const [desktop, phone] = [
      await letIn(browser, app),
      await letIn(browser, app, { viewport: PHONE, colorScheme: 'dark' }),
    ];
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Soup or salad?', options: ['Soup', 'Salad'] }]] },
      { say: 'You chose: $LAST' },
    ]);
    for (const { page } of [desktop, phone]) await page.locator('.prompt', { hasText: 'Soup or salad?' }).waitFor();
    expect(await phone.page.title()).toBe('(1) Fetch');
    await phone.page.getByRole('button', { name: 'Salad' }).click();
    for (const { page } of [desktop, phone]) await page.locator('.prompt').waitFor({ state: 'detached' });
    expect(await app.ended(thread, turn)).toMatchObject({ status: 'completed' });
    expect(JSON.stringify((await app.detail(thread)).items)).toContain('You chose: Salad');
    await until('the title says that nothing waits', async () => (await phone.page.title()) === 'Fetch');
    expect([...desktop.problems, ...phone.problems]).toEqual([]);
    await Promise.all([desktop.close(), phone.close()]);
  });

  it('is an approval whose yes is offered only when all that it counts for was in view', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app, { viewport: PHONE });
    const thread = await app.thread();
    const steps = Array.from({ length: 30 }, () => ({ tool: 'workflow_list', args: { includeRuns: true } }));
    const turn = await app.turn(thread, [{ call: [['workflow_create', { name: 'long', steps }]] }, { say: '$LAST' }]);
    const yes = page.locator('.choices .button.primary');
    await yes.waitFor();
    await page.getByText('Read to the end to allow it').waitFor();
    expect([await yes.isDisabled(), await page.getByRole('button', { name: 'No' }).isDisabled()]).toEqual([
      true,
      false,
    ]);
    await page.locator('.evidence .end').scrollIntoViewIfNeeded();
    await until('the yes is offered', () => yes.isEnabled());
    await yes.click();
    expect(await app.ended(thread, turn)).toMatchObject({ status: 'completed' });
    expect(JSON.stringify((await app.detail(thread)).items)).toContain('Saved the routine');
    expect(problems).toEqual([]);
    await close();
  });

  it('is an approval that WhatsApp shows, too: an answer here or there closes it in both', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app);
    const told = (text: string) =>
      until(`Ann is told ${text}`, () => ann.received.findLast(({ shown }) => shown.text.includes(text)));
    const saves = (name: string) =>
      script([{ call: [['workflow_create', { name, steps: ['workflow_list'] }]] }, { say: `The end of ${name}.` }]);
    const card = (name: string) => page.locator('.question', { hasText: `Save the routine "${name}"?` });

    await ann.send(saves('by-page'));
    const onPhone = await told('Save the routine "by-page"?');
    await card('by-page').getByText('WhatsApp').waitFor();
    await card('by-page').locator('.button.primary').click();
    await told('The end of by-page.');
    await card('by-page').waitFor({ state: 'detached' });
    await ann.react(onPhone, '👎');
    await told('That question is settled already');

    await ann.send(saves('by-phone'));
    await card('by-phone').waitFor();
    await ann.send('no', { quoted: await told('Save the routine "by-phone"?') });
    await card('by-phone').waitFor({ state: 'detached' });
    await told('The end of by-phone.');
    const saved = await app.store.db.selectFrom('routines').select('name').where('name', 'like', 'by-%').execute();
    expect(saved).toEqual([{ name: 'by-page' }]);
    expect(problems).toEqual([]);
    await close();
  });
});

describe.skipIf(NO_CHROMIUM)('a schedule on the page', () => {
  it('is made in words, and its next five firings are shown before', async () => {
    const { page, problems, close } = await letIn(browser, world.app);
    await goTo(page, 'schedules');
    const words = page.getByLabel('What should happen, and when?');
    const create = page.getByRole('button', { name: 'Create' });
    expect(await create.isDisabled()).toBe(true);
    await words.fill('every weekday at 8:30 tell me the news');
    await page.getByText('It would run').waitFor();
    const firings = await page.locator('.firings li').allInnerTexts();
    expect([firings.length, new Set(firings).size]).toEqual([5, 5]);
    for (const firing of firings) expect(firing).toMatch(/^(Mon|Tue|Wed|Thu|Fri) .* 08:30 /);
    const chats = page.getByLabel('In chat');
    expect(await chats.locator('option:checked').innerText()).toBe('Terminal');
    expect(await chats.locator('option').count()).toBeGreaterThan(1);
    await words.fill('remind me to stretch in 20 minutes');
    await until('one firing is shown', async () => (await page.locator('.firings li').count()) === 1);
    await create.click();
    await page.waitForURL(/#\/chats\/thr_/);
    await answers(page).getByText('I will remind you').waitFor();
    await goTo(page, 'schedules');
    await page.getByRole('article', { name: 'stretch' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  it('is run at once, paused and resumed', async () => {
    const { app } = world;
    const thread = await app.thread({ auto_approve: true });
    const steps = callsThen([
      ['workflow_create', { name: 'tidy', steps: ['workflow_list'] }],
      ['cron_create', { workflow: 'tidy', schedule: '0 3 * * *' }],
    ]);
    await app.ended(thread, await app.turn(thread, steps));
    const { page, problems, close } = await letIn(browser, app);
    await goTo(page, 'schedules');
    const card = page.getByRole('article', { name: 'tidy' });
    expect(await card.locator('ol li').count()).toBe(5);
    await card.getByRole('button', { name: 'Run now' }).click();
    await card.locator('.run.completed').waitFor();
    await card.getByRole('button', { name: 'Pause' }).click();
    await card.locator('.tag', { hasText: 'paused' }).waitFor();
    await card.getByRole('button', { name: 'Resume' }).click();
    await card.locator('.tag', { hasText: 'Schedule' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

describe.skipIf(NO_CHROMIUM)('the first screen', () => {
  it('takes a message, and goes to its chat', async () => {
    const { page, problems, close } = await letIn(browser, world.app, { viewport: PHONE });
    await page
      .getByLabel('What shall I do?')
      .last()
      .fill(script([{ say: 'from the first screen' }]));
    await page.getByRole('button', { name: 'Send' }).first().click();
    await page.waitForURL(/#\/chats\/thr_/);
    await answers(page).getByText('from the first screen').waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  it('shows the question that a notice was about, and says when it has been answered', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app, { viewport: PHONE });
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Left or right?', options: ['Left', 'Right'] }]] },
      { say: 'You chose: $LAST' },
    ]);
    const card = page.locator('.question', { hasText: 'Left or right?' });
    await card.waitFor();
    const { id } = await app.store.db
      .selectFrom('questions')
      .select('id')
      .where('thread_id', '=', thread)
      .executeTakeFirstOrThrow();
    await goTo(page, 'now', id);
    await page.locator('.question.chosen', { hasText: 'Left or right?' }).waitFor();
    await card.getByRole('button', { name: 'Left' }).click();
    await page.getByText('That question has been answered.').waitFor();
    await app.ended(thread, turn);
    expect(problems).toEqual([]);
    await close();
  });

  it('has keys: one for a search, one for every place, and one that tells them', async () => {
    const { page, problems, close } = await letIn(browser, world.app);
    await page.keyboard.press('/');
    await page.keyboard.type('words');
    expect(await page.getByLabel('What shall I do?').last().inputValue()).toBe('words');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('backups');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/settings\/backups/);
    await page.locator('main').focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('These keys').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await close();
  });
});

describe.skipIf(NO_CHROMIUM)('the settings on the page', () => {
  it('that need a restart have a button for it, beside the setting, and hold afterwards', async () => {
    const { app } = world;
    const { page, close } = await letIn(browser, app, { viewport: PHONE });
    await goTo(page, 'settings', 'all');
    await page.getByLabel('Search settings').fill('tool that a schedule was due catchup');
    await page.getByText('No setting matches.').waitFor();
    // the word is among those of a group, too, whose other settings have nothing to do with it
    await page.getByLabel('Search settings').fill('ntfy');
    await page.getByText('FETCH_NTFY_URL', { exact: true }).waitFor();
    expect(await page.locator('.setting').count()).toBe(1);
    await page.getByLabel('Search settings').fill('WHATSAPP_PER_DAY');
    const setting = page.locator('.setting', { hasText: 'WHATSAPP_PER_DAY' });
    await page.getByRole('button', { name: 'Change WHATSAPP_PER_DAY' }).click();
    await page.getByLabel('WHATSAPP_PER_DAY').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await setting.getByRole('button', { name: 'Restart' }).click();
    await setting.getByRole('button', { name: 'Restart' }).waitFor({ state: 'detached', timeout: 60_000 });
    // a phone has no room for the words
    await page.locator('.connection.open').waitFor({ state: 'attached' });
    await setting.getByText('7', { exact: true }).waitFor();
    const thread = await app.thread();
    await app.ended(thread, await app.turn(thread, [{ say: 'all roles are back' }]));
    rmSync(join(app.home, '.env'));
    await close();
  }, 120_000);

  it('are changed there, and a mistake in their file is shown on each of their pages', async () => {
    const { app } = world;
    const { page, problems, close } = await letIn(browser, app);
    await goTo(page, 'settings', 'all');
    await page.getByLabel('Search settings').fill('FETCH_MAX_DAY_USD');
    await page.getByRole('button', { name: 'Change FETCH_MAX_DAY_USD' }).click();
    await page.getByLabel('FETCH_MAX_DAY_USD').fill('12');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.setting', { hasText: 'the file' }).getByText('12', { exact: true }).waitFor();
    const file = join(app.home, '.env');
    writeFileSync(file, 'FETCH_MAX_DAY_USD=much\n');
    await page.reload();
    for (const section of ['all', 'model', 'agents']) {
      await goTo(page, 'settings', section);
      await page.getByRole('alert').getByText('FETCH_MAX_DAY_USD').waitFor();
    }
    rmSync(file);
    await page.reload();
    await goTo(page, 'settings', 'all');
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });
});
