import { execFile, execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isOwnProgram } from '../../../src/api/status/admin.ts';

let server: Server;
let port: number;
beforeAll(async () => {
  const app = new Koa();
  app.use((ctx) => {
    ctx.body = String(isOwnProgram(ctx));
  });
  server = createServer(app.callback());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

const asked = async (headers: Record<string, string> = {}) =>
  await (await fetch(`http://127.0.0.1:${port}/`, { headers })).text();

describe.skipIf(process.platform !== 'linux')('a request without a token from this machine', () => {
  it('is of the owner when a program of the same user makes it, and not through a proxy', async () => {
    expect(await asked()).toBe('true');
    expect(await asked({ 'x-forwarded-for': '203.0.113.9' })).toBe('false');
  });

  it.skipIf(process.getuid?.() !== 0)('is not of the owner when another user of the machine makes it', async () => {
    const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody']));
    const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET / HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3; cat <&3`;
    const { promise, resolve } = Promise.withResolvers<string>();
    execFile('bash', ['-c', script], { uid: id('-u'), gid: id('-g') }, (_, output) => resolve(output));
    expect(await promise).toMatch(/false$/);
  });
});
