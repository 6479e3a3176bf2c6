import {
  Agent,
  type ClientRequestArgs,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Target } from './allow-list.ts';
import { endToEnd, refusePlain, relay } from './plain.ts';
import { deny } from './tunnel.ts';

/** The apps that `localhost` means in one browser: those that run in one workspace. */
export interface LocalApps {
  /** folder of the workspace on this host */
  workspace: string;
  /** A connection to the app that listens on this port; null when there is none. */
  connect(port: number): Promise<Socket | null>;
  /** Why nothing answers at this port, in one line for the model. */
  missing(port: number): Promise<string>;
}

/**
 * Whether an address means the machine itself, as a browser understands it (RFC 6761). Such a name is never looked up.
 */
export const isLocal = ({ host }: Pick<Target, 'host'>): boolean =>
  ['localhost', '127.0.0.1', '::1'].includes(host) || host.endsWith('.localhost');

const NO_APP = '404 No such app';
/** Connections of one browser to one port. A page of a development server has hundreds of parts. */
const MOST_SOCKETS = 12;

/**
 * Leads requests for `localhost` into containers of apps. Nothing here connects to a port of this machine: a connection
 * comes from the app's container, or there is none.
 */
export class LocalWay {
  private readonly apps: LocalApps;
  private readonly missed: (target: Target, words: string) => void;
  private readonly agent: AppAgent;
  private readonly idleMs: number;

  constructor(apps: LocalApps, idleMs: number, missed: (target: Target, words: string) => void) {
    this.apps = apps;
    this.idleMs = idleMs;
    this.missed = missed;
    this.agent = new AppAgent(apps);
  }

  /** Passes one plain HTTP request on. */
  plain(target: Target, request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search, host } = new URL(request.url!);
    const headers = { ...endToEnd(request.headers), host };
    const sent = httpRequest({
      agent: this.agent,
      host: target.host,
      port: target.port,
      method: request.method,
      path: pathname + search,
      headers,
    });
    sent.setTimeout(this.idleMs, () => sent.destroy());
    sent.on('error', async (error) => {
      const none = error instanceof NoApp;
      const words = none
        ? await this.why(target)
        : `The app on port ${target.port} ended the connection without an answer.`;
      if (response.headersSent) response.destroy();
      else refusePlain(response, none ? NO_APP : '502 Bad Gateway', words);
    });
    relay(request, sent, response);
  }

  /** Answers a CONNECT: for WebSockets and TLS. */
  async tunnel(target: Target, client: Socket, head: Buffer): Promise<void> {
    const app = await this.apps.connect(target.port).catch(() => null);
    if (!app) return deny(client, NO_APP, await this.why(target));
    app.on('error', () => client.destroy()).once('close', () => client.destroySoon());
    client.once('close', () => app.destroy());
    if (client.destroyed) return void app.destroy();
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length) app.write(head);
    client.pipe(app).pipe(client);
  }

  close(): void {
    this.agent.destroy();
  }

  private async why(target: Target): Promise<string> {
    const words = await this.apps
      .missing(target.port)
      .catch(() => `It cannot be seen right now which app listens on port ${target.port}.`);
    this.missed(target, words);
    return words;
  }
}

class NoApp extends Error {}

/**
 * Keeps connections for further requests of a page. Each new one looks the app up, so an app that was started again is
 * found.
 */
class AppAgent extends Agent {
  private readonly apps: LocalApps;

  constructor(apps: LocalApps) {
    super({ keepAlive: true, maxSockets: MOST_SOCKETS });
    this.apps = apps;
  }

  override createConnection(
    { port }: ClientRequestArgs,
    done?: (error: Error | null, socket: Socket) => void,
  ): undefined {
    const failed = (error: Error) => (done as ((error: Error) => void) | undefined)?.(error);
    this.apps.connect(Number(port)).then((app) => {
      if (!app) return failed(new NoApp());
      // it was paused; the app says nothing before the request
      app.resume();
      done?.(null, app);
    }, failed);
  }
}
