import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectTo } from '../../../src/adapters/mcp/configured.ts';
import { McpError } from '../../../src/adapters/mcp/session.ts';
import { type ConfiguredServer, parseMcpConfig } from '../../../src/domain/extensions/mcp-config.ts';
import { NO_DOCKER, startTestKennel, type TestKennel } from '../../support/docker.ts';
import { startMcpServer, type TestMcpServer } from '../../support/mcp/server.ts';

/** Servers of the SDK, reached as a worker and a host with containers reach them. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const signal = () => AbortSignal.timeout(60_000);
const configured = (entry: object): ConfiguredServer => {
  const { servers, problems } = parseMcpConfig(JSON.stringify({ mcpServers: { s: entry } }));
  expect(problems).toEqual([]);
  return servers[0]!;
};

describe('a server over streamable HTTP', () => {
  let server: TestMcpServer;
  beforeAll(async () => {
    server = await startMcpServer();
  });
  afterAll(() => server.close());
  const open = (entry: object = {}) => connectTo(configured({ url: server.url, ...entry }), {}, signal());
  const call = async (tool: string, args: Record<string, unknown> = {}, timeoutMs = 20_000) => {
    const session = await open();
    try {
      return await session.call(tool, args, { signal: signal(), timeoutMs });
    } finally {
      await session.close();
    }
  };

  it('lists its tools, answers calls, and gets the configured headers', async () => {
    const session = await open({ headers: { 'X-Key': 'k-1' } });
    expect((await session.tools(signal())).map(({ name }) => name)).toEqual(server.offered.map(({ name }) => name));
    expect(await session.call('echo', { text: 'hello' }, { signal: signal(), timeoutMs: 5_000 })).toEqual({
      ok: true,
      text: 'hello',
      cut: false,
    });
    await session.close();
    expect(server.headers.at(-1)).toMatchObject({ 'x-key': 'k-1' });
  });

  it('names each tool once, and comes to an end, where its list of tools has none', async () => {
    for (const cursor of [() => 'again', (page: number) => String(page % 3), (page: number) => `page ${page}`]) {
      Object.assign(server, { listed: 0, nextCursor: cursor });
      const session = await open();
      const names = (await session.tools(signal())).map(({ name }) => name);
      await session.close();
      expect(names).toEqual(server.offered.map(({ name }) => name));
      expect(server.listed).toBeLessThanOrEqual(20);
    }
    delete server.nextCursor;
  });

  it('says that a call failed as its tool says it', async () => {
    expect(await call('fail')).toEqual({ ok: false, text: 'It does not work.', cut: false });
  });

  it('is read without what no database and no model takes, also where it fails and in a structure', async () => {
    expect(await call('binary')).toEqual({ ok: true, text: 'ab \ufffd c', cut: false });
    expect(await call('binary', { fails: true })).toMatchObject({ ok: false, text: 'ab \ufffd c' });
    const { ok, text } = await call('binary', { structured: true });
    expect([ok, JSON.parse(text)]).toEqual([true, { k: ['ab', '\ufffd'] }]);
  });

  it('is cut to the beginning and the end of a long result', async () => {
    const { text, cut } = await call('flood', { bytes: 300_000 });
    expect(cut).toBe(true);
    expect(text).toHaveLength(100_000 + '\n… 200000 characters left out …\n'.length);
  });

  it.each([
    ['sends 10 MB', 'flood', { bytes: 10_000_000 }, /more than 4 MB/],
    ['dies in the middle', 'die', {}, /did not answer|in the middle|cannot be reached/],
    ['does not answer in time', 'sleep', {}, /did not answer the call/],
  ])('costs an error when it %s', async (_, tool, args, why) => {
    const failure = await call(tool, args, 1_500).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(McpError);
    expect((failure as Error).message).toMatch(why);
    expect(await call('echo', { text: 'still here' })).toMatchObject({ ok: true, text: 'still here' });
  });

  it('costs an error when it is not there', async () => {
    await expect(connectTo(configured({ url: 'http://127.0.0.1:10999/mcp' }), {}, signal())).rejects.toThrow(
      /MCP server s cannot be reached: ECONNREFUSED/,
    );
  });

  it.each([
    ['a page', 200, 'text/html', '<html>'],
    ['broken JSON', 200, 'application/json', '{"jsonrpc'],
    ['other JSON', 200, 'application/json', '{"a":1}'],
    ['a log-in page', 401, 'text/plain', 'who are you'],
    ['a broken stream', 200, 'text/event-stream', 'data: {"jsonrpc":\n\n'],
  ])('costs an error when it answers with %s', async (_, status, type, body) => {
    const wrong = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    await new Promise<void>((listening) => wrong.listen(0, '127.0.0.1', listening));
    const url = `http://127.0.0.1:${(wrong.address() as AddressInfo).port}/mcp`;
    await expect(connectTo(configured({ url }), {}, AbortSignal.timeout(3_000))).rejects.toThrow();
    wrong.close();
  });

  it('is not followed to another place, because its headers would go along', async () => {
    const elsewhere: unknown[] = [];
    const thief = createServer((request, response) => {
      elsewhere.push(request.headers);
      response.end();
    });
    await new Promise<void>((listening) => thief.listen(0, '127.0.0.1', listening));
    const away = createServer((request, response) => {
      request.resume();
      response.writeHead(307, { location: `http://127.0.0.1:${(thief.address() as AddressInfo).port}/mcp` }).end();
    });
    await new Promise<void>((listening) => away.listen(0, '127.0.0.1', listening));
    const url = `http://127.0.0.1:${(away.address() as AddressInfo).port}/mcp`;
    await expect(
      connectTo(configured({ url, headers: { Authorization: 'Bearer secret' } }), {}, signal()),
    ).rejects.toThrow(/redirect/i);
    expect(elsewhere).toEqual([]);
    thief.close();
    away.close();
  });
});

describe.skipIf(NO_DOCKER)('a server over stdio', () => {
  let at: TestKennel;
  beforeAll(async () => {
    at = await startTestKennel();
  }, 300_000);
  afterAll(() => at?.close());
  const open = (how: string[] = [], more: object = {}) =>
    connectTo(
      configured({ command: 'node', args: ['tests/support/mcp/stdio-server.ts', ...how], cwd: ROOT, ...more }),
      { kennel: at.kennel },
      signal(),
    );

  it('runs in a container that reads its folder, gets its variables, and is gone at the end', async () => {
    const session = await open(['greeting']);
    expect((await session.tools(signal())).map(({ name }) => name)).toContain('echo');
    expect(await session.call('echo', { text: 'from inside' }, { signal: signal(), timeoutMs: 10_000 })).toMatchObject({
      ok: true,
      text: 'from inside',
    });
    expect(await at.containers()).toHaveLength(1);
    await session.close();
    expect(await at.containers()).toEqual([]);
  }, 60_000);

  it('reaches no host, and with a list only those on it', async () => {
    const reach = async (more: object, url: string) => {
      const session = await open([], more);
      try {
        return (await session.call('reach', { url }, { signal: signal(), timeoutMs: 30_000 })).text;
      } finally {
        await session.close();
      }
    };
    expect(await reach({}, 'https://example.com/')).toMatch(/failed/);
    expect(await reach({ hosts: ['allowed.example'] }, 'https://example.com/')).toBe('proxy: 403');
    // the proxy lets this host through, and the name leads nowhere
    expect(await reach({ hosts: ['allowed.example'] }, 'https://allowed.example/')).toMatch(/^proxy: 5\d\d$/);
  }, 120_000);

  it.each([
    ['ends with words on stderr', ['words'], /ended\. Its last words:\nI am broken\./],
    ['prints something else', ['garbage'], /prints other things than messages/],
    ['prints 10 MB in one line', ['flood'], /more than 4 MB/],
  ])(
    'costs an error when it %s',
    async (_, how, why) => {
      const failure = await open(how).catch((error: Error) => error);
      expect(failure).toBeInstanceOf(McpError);
      expect((failure as Error).message).toMatch(why);
      expect(await at.containers()).toEqual([]);
    },
    60_000,
  );

  it('costs an error when it dies in the middle of a call', async () => {
    const session = await open();
    await expect(session.call('die', {}, { signal: signal(), timeoutMs: 30_000 })).rejects.toThrow(
      /MCP server s ended/,
    );
    await session.close();
    expect(await at.containers()).toEqual([]);
  }, 60_000);
});
