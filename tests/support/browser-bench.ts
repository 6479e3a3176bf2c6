import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { pino } from 'pino';
import { type Browsers, createBrowsers } from '../../src/adapters/kennel/browser/browsers.ts';
import { type BrowserGateDeps, createBrowserGate } from '../../src/adapters/kennel/gate/browser-gate.ts';
import { isPublicAddress } from '../../src/adapters/web/address-guard.ts';
import type { Db } from '../../src/store/postgres/database.ts';
import { browserTools } from '../../src/tools/browser/browser.ts';
import { appTools } from '../../src/tools/workspace/apps.ts';
import { fileTools } from '../../src/tools/workspace/files.ts';
import { workspaceTools } from '../../src/tools/workspace/workspaces.ts';
import { requireDocker, startTestKennel, type TestKennel } from './docker.ts';
import { type ToolBench, toolBench } from './tool-bench.ts';

/**
 * The address that stands for the public internet in these tests. Every other address of this machine is as private as
 * ever.
 */
export const PUBLIC = '127.0.0.2';

/** Names end in `.test`; unless `resolve` says otherwise they have the public address. */
export const publicGate = (resolve?: BrowserGateDeps['resolve']): Omit<BrowserGateDeps, 'log'> => ({
  allows: (address) => address === PUBLIC || isPublicAddress(address, []),
  resolve:
    resolve ??
    (async (name) => {
      if (!name.endsWith('.test')) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
      return [{ address: PUBLIC, family: 4 }];
    }),
});

const tools = [...browserTools, ...workspaceTools, ...fileTools, ...appTools];

export interface BrowserBench {
  kennel: TestKennel;
  /** a chat with a browser of its own; `browsers` of another process when named */
  chat(browsers?: Browsers): Promise<ToolBench>;
  browsers: Browsers;
  /** what a process that was started again has: it knows nothing of the earlier one's browsers */
  nextProcess(): Browsers;
  close(): Promise<void>;
}

export async function startBrowserBench(
  db: Db,
  {
    gate = publicGate(),
    settings = {},
  }: { gate?: Omit<BrowserGateDeps, 'log'>; settings?: Record<string, string> } = {},
): Promise<BrowserBench> {
  await requireDocker('browser');
  const kennel = await startTestKennel({ FETCH_KENNEL_MEMORY_MB: '1536', ...settings });
  const opened: Browsers[] = [];
  const nextProcess = (): Browsers => {
    const browsers = createBrowsers({
      ...kennel,
      gate: createBrowserGate({ log: pino({ level: 'silent' }), ...gate }),
    });
    opened.push(browsers);
    return browsers;
  };
  const browsers = nextProcess();
  return {
    kennel,
    browsers,
    nextProcess,
    chat: (other = browsers) =>
      toolBench({
        db,
        ...kennel,
        host: 'local',
        workspacesFolder: `${kennel.home}/workspaces`,
        tools,
        browsers: other,
      }),
    close: async () => {
      await Promise.all(opened.map((each) => each.closeAll()));
      await kennel.close();
    },
  };
}

export interface Site {
  port: number;
  /** paths that were asked for, with their method */
  asked: string[];
  close(): Promise<void>;
}

export type Pages = Record<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>;

/** A web server. A text is an HTML page. */
export async function serve(pages: Pages, address = PUBLIC): Promise<Site & { server: Server }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url!.split('?', 1)[0]!;
    if (path !== '/favicon.ico') asked.push(`${request.method} ${request.url}`);
    const page = pages[path];
    if (typeof page === 'function') return page(request, response);
    response
      .writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' })
      .end(page ?? 'not here');
  });
  await new Promise<void>((done) => server.listen(0, address, done));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    server,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export interface ConnectionCounter {
  port: number;
  hits: number;
  server: TcpServer;
}

/** A server of this machine that counts every connection, and answers each with a secret. */
export async function connectionCounter(): Promise<ConnectionCounter> {
  const counter: ConnectionCounter = { port: 0, hits: 0, server: null as unknown as TcpServer };
  counter.server = createTcpServer((socket) => {
    counter.hits += 1;
    socket.on('error', () => {});
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\naccess-control-allow-origin: *\r\n\r\nsecret');
  });
  // all addresses of this machine but the public one
  await new Promise<void>((done) => counter.server.listen(0, '::', done));
  counter.port = (counter.server.address() as { port: number }).port;
  return counter;
}
