import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, isIPv4, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { HOUR } from '../../../domain/time.ts';
import { endToEnd, refusePlain, relay } from '../gate/egress/plain.ts';

/** Addresses of this machine in networks with other devices. Containers have bridges of their own. */
export const addressesInNetworks = (): string[] =>
  Object.entries(networkInterfaces()).flatMap(([name, found = []]) =>
    /^(docker|br-|veth|virbr)/.test(name)
      ? []
      : found.filter(({ address, internal }) => isIPv4(address) && !internal).map(({ address }) => address),
  );

const MOST_CONNECTIONS = 64;
const REFUSED = 'This link was used, or its time is over. Ask for another one.';
const NO_APP = 'The app does not answer.';
const page = (path: string): string =>
  `<!doctype html><meta name="viewport" content="width=device-width"><title>Preview</title><form method="post" action="${path}"><button style="font-size:1.5em">Open the preview</button></form>`;

interface Shown {
  /** a paused connection to the app; null when there is none */
  connect(): Promise<Socket | null>;
  /** the app's own port, as it knows itself */
  port: number;
}

/**
 * A way to an app from one device in the owner's network, over HTTP. Only the link leads in, once: programs that look
 * at links before a person does get a button, which lets in the browser that presses it. Cookies that other servers of
 * this machine have set do not reach the app.
 */
export class PreviewLink {
  readonly url: string;
  /** epoch ms */
  readonly until: number;
  private readonly server: Server;
  private readonly app: Shown;
  private readonly agent: Agent;
  private readonly sockets = new Set<Duplex>();
  private readonly path = `/${randomBytes(24).toString('base64url')}`;
  private readonly session: { name: string; value: string };
  /** names of the app's own cookies */
  private readonly cookies = new Set<string>();
  private used = false;

  private constructor(server: Server, app: Shown, ms: number) {
    const { address, port } = server.address() as AddressInfo;
    this.server = server;
    this.app = app;
    this.agent = agentOf(app);
    this.url = `http://${address}:${port}${this.path}`;
    this.until = Date.now() + ms;
    // a cookie counts for every port of a host
    this.session = { name: `fetch_preview_${port}`, value: randomBytes(24).toString('base64url') };
    server.on('request', (request, response) => this.answer(request, response));
    server.on('upgrade', (request, socket, head) => void this.upgrade(request, socket, head));
    server.on('connection', (socket) => this.track(socket));
    setTimeout(() => this.close(), ms).unref();
  }

  static async open(app: Shown, address: string, ms = HOUR): Promise<PreviewLink> {
    const server = createServer();
    server.maxConnections = MOST_CONNECTIONS;
    server.listen(0, address);
    await once(server, 'listening');
    return new PreviewLink(server, app, ms);
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    this.agent.destroy();
  }

  private track(socket: Duplex): void {
    this.sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.sockets.delete(socket));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.isLetIn(request)) {
      if (request.url === this.path) this.toStart(response);
      else this.passOn(request, response);
    } else if (request.url !== this.path || this.used) refusePlain(response, '403 Forbidden', REFUSED);
    else if (request.method === 'POST') this.letIn(response);
    else {
      const headers = { 'content-type': 'text/html', 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' };
      response.writeHead(200, headers).end(page(this.path));
    }
  }

  private letIn(response: ServerResponse): void {
    this.used = true;
    const { name, value } = this.session;
    response.setHeader('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Strict`);
    this.toStart(response);
  }

  private toStart(response: ServerResponse): void {
    response.writeHead(303, { location: '/', 'referrer-policy': 'no-referrer' }).end();
  }

  private isLetIn({ headers }: IncomingMessage): boolean {
    return cookiesIn(headers.cookie).some(
      ({ name, value }) => name === this.session.name && value === this.session.value,
    );
  }

  /** As a browser on the machine of the app would ask. */
  private headersFor({ headers }: IncomingMessage): Record<string, string | string[] | undefined> {
    const host = `localhost:${this.app.port}`;
    const own = cookiesIn(headers.cookie).filter(({ name }) => this.cookies.has(name));
    const { cookie: _, referer: __, ...rest } = endToEnd(headers);
    return {
      ...rest,
      host,
      ...(headers.origin && { origin: `http://${host}` }),
      ...(own.length > 0 && { cookie: own.map(({ name, value }) => `${name}=${value}`).join('; ') }),
    };
  }

  private passOn(request: IncomingMessage, response: ServerResponse): void {
    const { method, url: path } = request;
    const sent = httpRequest({ agent: this.agent, method, path, headers: this.headersFor(request) });
    sent.once('response', (answer) => {
      for (const { name } of (answer.headers['set-cookie'] ?? []).flatMap((line) => cookiesIn(line).slice(0, 1)))
        this.cookies.add(name);
    });
    sent.on('error', () => {
      if (response.headersSent) response.destroy();
      else refusePlain(response, '502 Bad Gateway', NO_APP);
    });
    relay(request, sent, response);
  }

  /** WebSockets, as development servers use them. */
  private async upgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const app = this.isLetIn(request) ? await this.app.connect().catch(() => null) : null;
    if (!app || client.destroyed) {
      app?.destroy();
      return void client.destroy();
    }
    this.track(app);
    const { upgrade } = request.headers;
    const headers = Object.entries({ ...this.headersFor(request), connection: 'Upgrade', upgrade });
    const lines = headers.flatMap(([name, value]) => [value ?? []].flat().map((each) => `${name}: ${each}`));
    app.write(`${[`${request.method} ${request.url} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`);
    if (head.length > 0) app.write(head);
    client.once('close', () => app.destroy());
    app.once('close', () => client.destroy());
    client.pipe(app).pipe(client);
  }
}

const cookiesIn = (header = ''): Array<{ name: string; value: string }> =>
  header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? [] : [{ name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }];
  });

/** Keeps connections for further requests of a page. */
function agentOf({ connect }: Shown): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 12 });
  agent.createConnection = (_, done) => {
    const failed = (error: Error) => done?.(error, undefined as never);
    connect().then((app) => (app ? done?.(null, app.resume()) : failed(new Error(NO_APP))), failed);
    return undefined as never;
  };
  return agent;
}
