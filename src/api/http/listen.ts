import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Koa from 'koa';

export interface Listening {
  /** `http://127.0.0.1:7878` */
  url: string;
  port: number;
  /** stops accepting connections, gives running requests `graceMs` to end, then closes every connection */
  close(graceMs?: number): Promise<void>;
}

/** The port is taken. The message names it, and says what to do. */
export class PortTaken extends Error {
  readonly port: number;
  constructor(host: string, port: number, setting: string) {
    super(
      `Port ${port} on ${host} is taken by another program. Stop that program, or choose another port with ${setting}.`,
    );
    this.name = 'PortTaken';
    this.port = port;
  }
}

/** Binds an app; port 0 takes a free one. `setting`: the setting that changes the port. @throws PortTaken */
export async function listen(
  app: Koa,
  host: string,
  port: number,
  setting = 'FETCH_RUNTIME_PORT or FETCH_STATUS_PORT',
): Promise<Listening> {
  const server = createServer(app.callback());
  // longer than the 60 s of common proxies, so that the proxy closes an idle connection first
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortTaken(host, port, setting) : error),
    );
    server.listen(port, host, resolve);
  });
  const bound = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    port: bound.port,
    close: (graceMs = 2_000) => close(server, graceMs),
  };
}

function close(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}
