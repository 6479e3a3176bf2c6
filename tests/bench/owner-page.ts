import type { Page } from 'playwright-core';
import { goTo, letIn, openBrowser } from '../support/owner-page.ts';
import { fillMuch } from '../support/page-content.ts';
import type { Bench, Part } from './bench.ts';
import { median, percentile, type Row, round } from './figures.ts';

const CHATS = 500;
const TASKS = 100;
const ITEMS = 5_000;

/**
 * The owner's page in a real browser, with much in it: from the request to what is painted, and from a key to the frame
 * that shows it.
 */
export const ownerPage: Part = {
  name: 'page',
  title: `The owner's page with ${CHATS} chats, ${TASKS} tasks and a thread of ${ITEMS} items`,
  async run(bench) {
    const long = await fillMuch(bench.app, { chats: CHATS, tasks: TASKS, items: ITEMS });
    const browser = await openBrowser();
    try {
      const { page } = await letIn(browser, bench.app);
      const rows: Row[] = [];
      for (const [view, parts, shown] of [
        ['Now', ['now'], 'main h1'],
        [`Chats: ${CHATS}`, ['chats'], '.list-row'],
        [`a thread of ${ITEMS} items`, ['chats', long], '.said.agent'],
        [`Tasks: ${TASKS}`, ['tasks'], '.list-row'],
      ] as const)
        rows.push({ view, ...(await paints(page, bench, [...parts], shown)) });
      await goTo(page, 'chats', long);
      await page.getByText('step 4999').waitFor();
      rows.push({ view: 'a key in the composer of that thread', ...(await typing(page, 'idle')) });
      const turn = await bench.app.turn(long, [{ say: 'word '.repeat(400), pace: 20 }]);
      await page.locator('.said.agent').getByText('word word').last().waitFor();
      rows.push({ view: 'the same while an answer streams', ...(await typing(page, 'streams')) });
      await bench.app.ended(long, turn);
      return rows;
    } finally {
      await browser.close();
    }
  },
};

/** Loads the page there, again and again. `content`: until what was asked for is in a frame. */
async function paints(page: Page, { app, pick }: Bench, parts: string[], shown: string): Promise<Row> {
  const first: number[] = [];
  const content: number[] = [];
  for (let at = 0; at < pick(5, 15, 30); at += 1) {
    await page.goto('about:blank');
    await page.goto(`${app.baseUrl}/#/${parts.join('/')}`);
    await page.locator(shown).first().waitFor();
    content.push(
      await page.evaluate<number>('new Promise((done) => requestAnimationFrame(() => done(performance.now())))'),
    );
    first.push(await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0].startTime`));
  }
  return {
    n: first.length,
    'first paint ms': round(median(first)),
    'content ms': round(median(content)),
    'content p95 ms': round(percentile(content, 0.95)),
  };
}

const SENTENCE = 'some words that are written while somebody looks at a long thread';

/** Keys of a keyboard, as the browser gets them: from the key to the end of the frame after it. */
async function typing(page: Page, words: string): Promise<Row> {
  await page.evaluate(`{
    const times = [];
    globalThis.keyTimes = times;
    document.querySelector('.composer textarea').addEventListener('input', (event) => {
      requestAnimationFrame(() => setTimeout(() => times.push(performance.now() - event.timeStamp)));
    });
  }`);
  await page.locator('.composer textarea').pressSequentially(`${words} ${SENTENCE}`, { delay: 30 });
  const times = await page.evaluate<number[]>('globalThis.keyTimes');
  await page.locator('.composer textarea').fill('');
  return {
    n: times.length,
    'key to frame ms': round(median(times)),
    'key to frame p95 ms': round(percentile(times, 0.95)),
  };
}
