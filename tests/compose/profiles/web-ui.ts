import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_CHROMIUM, openBrowser } from '../../support/owner-page.ts';
import { until } from '../../support/until.ts';
import type { ComposedServer } from '../server.ts';

interface Listed {
  executions: Array<{ execution: { workflowId: string }; type: { name: string } }>;
}

/** The Web UI behind the api role, by its own HTTP API and in a browser. A chat took a turn before. */
export function webUiTests(server: () => ComposedServer): void {
  const link = async () => new URL((await server().compose('exec', '--no-TTY', 'api', 'fetch', 'ui')).split('\n')[0]!);
  const workflows = (origin: string) => `${origin}/api/v1/namespaces/default/workflows`;

  test('the Web UI lets nobody in without the link of `fetch ui`, publishes no port, and lists our chats to who has the link', async () => {
    const at = await link();
    expect((await fetch(workflows(at.origin))).status).toBe(401);
    expect((await fetch(`${at.origin}/codec/decode`, { method: 'POST', body: '{"payloads":[]}' })).status).toBe(401);
    expect(
      await server()
        .compose('port', 'temporal-ui', '8080')
        .catch(() => 'none'),
    ).toMatch(/^(none|:0)?$/);
    const cookie = (await fetch(at, { redirect: 'manual' })).headers.get('set-cookie')!.split(';')[0]!;
    const { executions } = (await (await fetch(workflows(at.origin), { headers: { cookie } })).json()) as Listed;
    expect(executions.map(({ type }) => type.name)).toContain('conversation');
  });

  describe.skipIf(NO_CHROMIUM)('in a browser', () => {
    let browser: Browser;
    let page: Page;
    let chat: string;
    beforeAll(async () => {
      browser = await openBrowser();
      page = await (await browser.newContext({ viewport: { width: 1400, height: 857 } })).newPage();
      page.setDefaultTimeout(60_000);
      const at = await link();
      await page.goto(at.href);
      await page.waitForURL(/\/namespaces\/default\/workflows/);
      await page.getByText('Waits for a person').first().waitFor();
      const { executions } = await page.evaluate<Listed>(
        `fetch(${JSON.stringify(workflows(at.origin))}).then((answer) => answer.json())`,
      );
      chat = executions.find(({ type }) => type.name === 'conversation')!.execution.workflowId;
      await page.goto(`${at.origin}/namespaces/default/workflows`);
      await page.getByRole('link', { name: chat }).first().click();
    });
    afterAll(() => browser?.close());

    test('a conversation is shown with its payloads decrypted', async () => {
      await page.getByText('"maxToolCalls"').first().waitFor();
    });

    test('its details are asked of the worker, with a POST that the UI refuses to pages of elsewhere', async () => {
      await page.getByText('User Metadata').first().click();
      // Markdown is shown in a frame of its own
      const shown = async () =>
        (await Promise.all(page.frames().map((frame) => frame.getByText('nothing to do').count()))).some(
          (count) => count > 0,
        );
      await until('the details are shown', shown);
    });
  });
}
