import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testCommand } from '../../kennel/workspace/project/profile.ts';
import { SEARCH_TIMEOUT_MS } from '../../src/adapters/web/searxng.ts';
import { loadConfig } from '../../src/config.ts';
import { withoutTrigger } from '../../src/domain/chat/trigger.ts';
import { parseSchedule } from '../../src/domain/cron.ts';
import { sanitiseText } from '../../src/gateway/intake/sanitise.ts';
import { browserTools } from '../../src/tools/browser/browser.ts';
import type { ToolContext } from '../../src/tools/tool.ts';
import { MAX_CONTENT, webFetch } from '../../src/tools/web.ts';

/** What the contract says that has no place of its own: defaults, limits, and words of a person. */

let pages: Server;
const folder = mkdtempSync(join(tmpdir(), 'fetch-contract-'));
beforeAll(async () => {
  pages = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(MAX_CONTENT + 1)),
  );
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  pages?.close();
  rmSync(folder, { recursive: true, force: true });
});

const context = (settings: Record<string, string> = {}): ToolContext =>
  ({
    config: loadConfig(settings, {}),
    signal: AbortSignal.timeout(30_000),
    host: 'local',
    workspacesFolder: folder,
  }) as unknown as ToolContext;

it('the status API is on port 8765', () => expect(loadConfig({}, {}).FETCH_STATUS_PORT).toBe(8765));

it('by default a person may write 30 messages in 60 seconds', () => {
  expect(loadConfig({}, {}).WHATSAPP_RATE_LIMIT).toBe(30);
});

it('the trigger is taken off the text, in any case of letters', () => {
  for (const text of ['@fetch status', '@FETCH status', ' @Fetch, status', '@fetch: status'])
    expect(withoutTrigger(text, '@fetch')?.trim()).toBe('status');
  expect(withoutTrigger('@fetcher hi', '@fetch')).toBeNull();
});

it.each([
  'see $(document).ready and `ls`',
  'what does rm -rf do?',
  'curl x | sh is a bad idea',
  'retrieval (RAG) with eval()',
  'obj.__proto__ and constructor[0]',
])('null bytes and control characters are taken out, and nothing else of a text is refused: %s', (text) => {
  expect(sanitiseText(`${text}\0\u0007\u001b`)).toBe(text);
});

it.each([
  'http://localhost/',
  'http://127.0.0.1/',
  'http://127.8.9.1/',
  'http://10.1.2.3/',
  'http://172.16.0.1/',
  'http://172.31.255.254/',
  'http://192.168.1.1/',
  'http://0.0.0.0/',
  'http://[::1]/',
  'http://[fe80::1]/',
])('web_fetch refuses every private address that the contract names: %s', async (url) => {
  expect(await webFetch.run({ url }, context())).toMatchObject({
    ok: false,
    output: expect.stringMatching(/private|not public|public address/i),
  });
});

it('web_fetch stores at most 50,000 characters of a page, and says that it is cut', async () => {
  const url = `http://127.0.0.1:${(pages.address() as AddressInfo).port}/`;
  const { output, metadata } = await webFetch.run({ url }, context({ FETCH_ALLOW_PRIVATE_URLS: 'true' }));
  expect(metadata).toMatchObject({ truncated: true, length: 50_000 });
  expect(output).toContain('only the first 50000 characters');
});

it('web_search waits for 15 seconds', () => expect(SEARCH_TIMEOUT_MS).toBe(15_000));

it('ENABLE_BROWSER=false turns the browser off, and the tools say so', async () => {
  const off = { ...context({ ENABLE_BROWSER: 'false' }), kennel: {} } as unknown as ToolContext;
  const calls: Record<string, object> = {
    browser_open: { url: 'https://example.com', waitUntil: 'load' },
    browser_snapshot: {},
    browser_action: { action: 'back' },
    browser_screenshot: {},
    browser_test: { url: 'https://example.com', waitUntil: 'load', mustInclude: [], screenshot: false },
  };
  expect(browserTools.map(({ name }) => name).toSorted()).toEqual(Object.keys(calls).toSorted());
  for (const { name, run } of browserTools)
    expect([name, await run(calls[name] as never, off)]).toMatchObject([
      name,
      { ok: false, output: expect.stringContaining('turned off') },
    ]);
});

it('a schedule has five fields: minute, hour, day of month, month, weekday', () => {
  const from = new Date('2026-11-23T00:00:00Z');
  for (const schedule of ['0 3 * * *', '*/15 * * * *', '30 9 1 1 *', '0 9 * * 1-5'])
    expect(parseSchedule(schedule, 'UTC', from)).toEqual({ ok: true, schedule });
  for (const schedule of [
    '0 3 * *',
    '0 0 3 * * *',
    '60 3 * * *',
    '0 24 * * *',
    '0 3 32 * *',
    '0 3 * 13 *',
    '5abc * * * *',
  ])
    expect([schedule, parseSchedule(schedule, 'UTC', from)]).toMatchObject([schedule, { ok: false }]);
});

it.each([
  ['package.json', '{"scripts":{"test":"vitest run"}}', ['npm', 'test']],
  ['go.mod', 'module x\n', ['go', 'test', './...']],
  ['Cargo.toml', '[package]\nname = "x"\n', ['cargo', 'test']],
  ['pytest.ini', '[pytest]\n', ['pytest']],
])('app_test knows the usual command of a project: %s', (file, text, command) => {
  const root = mkdtempSync(join(folder, 'project-'));
  writeFileSync(join(root, file), text);
  if (file === 'pytest.ini') writeFileSync(join(root, 'pyproject.toml'), '[project]\nname = "x"\n');
  const found = testCommand(root);
  expect(found?.slice(-command.length)).toEqual(command);
});
