import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/provide-chromium.ts';
import type { TestApp } from './app.ts';
import { IS_ROOT } from './other-user.ts';
import { until } from './until.ts';

/** The owner's page in a real browser. */

/**
 * For `describe.skipIf`: `npm test` installs a browser as root. In CI the tests are root, and a skipped test fails
 * them.
 */
export const NO_CHROMIUM: boolean = !IS_ROOT && findChromium() === null;

/** The narrowest that is sold. */
export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1280, height: 800 };

export function openBrowser(args: string[] = []): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new Error('There is no Chromium. "node scripts/provide-chromium.ts" says how to get one.');
  // Chromium has no sandbox for root; here it opens our own page only
  return chromium.launch({ executablePath, chromiumSandbox: !IS_ROOT, args });
}

export interface OpenPage {
  context: BrowserContext;
  page: Page;
  /** what must not happen: errors of scripts, refusals of the CSP, dialogs, and requests to other hosts */
  problems: string[];
  close(): Promise<void>;
}

interface Look {
  viewport?: { width: number; height: number };
  colorScheme?: 'light' | 'dark';
}

/** A browser that nobody has let in. Nothing is opened yet. */
export async function newPage(
  browser: Browser,
  { baseUrl }: TestApp,
  { viewport = DESKTOP, colorScheme = 'light' }: Look = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // that a killed server is away, the page itself tells
    if (message.type() === 'error' && !message.text().includes('net::ERR_'))
      problems.push(`${message.text()} ${message.location().url}`);
  });
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('request', (request) => {
    if (!request.url().startsWith(`${baseUrl}/`) && !/^(data|blob):/.test(request.url()))
      problems.push(`request to ${request.url()}`);
  });
  return { context, page, problems, close: () => context.close() };
}

/** A browser that the link of `fetch open` let in, with the page open. */
export async function letIn(browser: Browser, app: TestApp, look?: Look): Promise<OpenPage> {
  const opened = await newPage(browser, app, look);
  await opened.page.goto(`${app.baseUrl}/?token=test-token`);
  await opened.page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
  return opened;
}

/** Opens a part of the page, as a click on its link does, and waits until everything in it is read. */
export async function goTo(page: Page, ...parts: string[]): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${parts.map(encodeURIComponent).join('/')}`)}`);
  await until(`${parts.join('/')} is read`, async () => {
    const [main, loading] = [await page.locator(`main.${parts[0]}`).count(), await page.locator('.loading').count()];
    return main === 1 && loading === 0;
  });
}

/** What axe finds on the page, one line each. `only`: one of its rules, such as the one that depends on colours. */
export async function accessibilityFindings(page: Page, only?: 'color-contrast'): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(${JSON.stringify(only ? { runOnly: [only] } : {})})`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary?.split('\n')[1] ?? ''}`),
  );
}

/** Writes a message in the chat that is open, and sends it. */
export async function write(page: Page, text: string): Promise<void> {
  await page.locator('.composer textarea').fill(text);
  await page.keyboard.press('Enter');
}
