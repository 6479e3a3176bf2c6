import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forwardSocket } from '../../../kennel/runner/watch/socket-forwarder.ts';
import { until } from '../../support/until.ts';

let folder: string;
let path: string;
let closers: Array<() => void>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forward-'));
  path = join(folder, 'gate.sock');
  closers = [() => rmSync(folder, { recursive: true, force: true })];
});
afterEach(() => {
  for (const close of closers.reverse()) close();
});

async function gate(handle: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, handle);
  server.listen(path);
  await once(server, 'listening');
  closers.push(() => server.close());
  return server;
}

async function client(hold?: number): Promise<Socket> {
  const forwarder = await forwardSocket(0, path, hold);
  closers.push(() => forwarder.close());
  const socket = connect({ port: forwarder.port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

async function all(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

const echo = (socket: Socket) => void socket.pipe(socket);

test('a connection that is made before the socket is there is held, with what was sent on it', async () => {
  const socket = await client();
  socket.end('hello');
  await gate(echo);
  expect(await all(socket)).toBe('hello');
});

test('a connection is closed when the socket does not come in time', async () => {
  const socket = await client(200);
  expect(await all(socket)).toBe('');
});

test('an answer arrives whole after the asking side has ended', async () => {
  await gate((socket) => {
    socket.resume();
    socket.on('end', () => socket.end('x'.repeat(5_000_000)));
  });
  const socket = await client();
  socket.end('all that I have to say');
  expect((await all(socket)).length).toBe(5_000_000);
});

test('a connection ends with the gate behind it, and a new one is held until the next gate', async () => {
  const open: Socket[] = [];
  const first = await gate((socket) => {
    open.push(socket);
    socket.write('ready');
  });
  const socket = await client();
  await until('the connection behind', () => open.length > 0, 5000);
  first.close();
  for (const one of open) one.destroySoon();
  expect(await all(socket)).toBe('ready');
  const second = await client();
  second.end('again');
  await gate(echo);
  expect(await all(second)).toBe('again');
});
