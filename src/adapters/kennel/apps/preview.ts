import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { openSocketFolder, type SocketFolder } from '../gate/socket.ts';

/** Most connections from inside, waiting or used. A browser opens six to one host. */
const MAX_TUNNELS = 64;
/** How long a visitor waits for a connection to the app. */
const WAIT_MS = 10_000;
/** What the container says first on a connection: the port of the app. */
const HELLO = /^(\d{1,5})\n$/;

/**
 * The way to an app from a browser on this machine. The container connects to a socket of ours and waits there
 * (kennel/app); each visitor of the loopback port gets one of these connections. So visitors reach the app, and the app
 * reaches nobody.
 */
export class Preview {
  /** the port on loopback of this machine */
  readonly port: number;
  /** folder of the app's workspace */
  readonly workspace: string;
  /** the app's own port; null until it listens */
  appPort: number | null = null;
  private readonly servers: [Server, Server];
  private readonly folder: SocketFolder;
  private readonly waiting: Socket[] = [];
  private readonly visitors: Array<(tunnel: Socket | null) => void> = [];
  private readonly open = new Set<Socket>();
  private tunnels = 0;

  private constructor(workspace: string, folder: SocketFolder, servers: [Server, Server]) {
    this.workspace = workspace;
    this.folder = folder;
    this.servers = servers;
    this.port = (servers[0].address() as { port: number }).port;
    servers[0].on('connection', (visitor: Socket) => void this.visit(visitor));
    servers[1].on('connection', (tunnel: Socket) => this.greet(tunnel));
  }

  /** `port`: where it was before this process; 0 for any that is free. */
  static async open(path: string, workspace: string, port: number): Promise<Preview> {
    const folder = openSocketFolder(path);
    const [visitors, tunnels] = [
      createServer({ allowHalfOpen: true, pauseOnConnect: true }),
      createServer({ allowHalfOpen: true }),
    ];
    try {
      visitors.listen(port, '127.0.0.1');
      await once(visitors, 'listening');
      await folder.listen(tunnels, 'preview.sock');
      return new Preview(workspace, folder, [visitors, tunnels]);
    } catch (error) {
      visitors.close();
      folder.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const take of this.visitors.splice(0)) take(null);
    for (const socket of this.open) socket.destroy();
    await Promise.all(this.servers.map((server) => new Promise((done) => server.close(done))));
    this.folder.close();
  }

  /**
   * A connection to the app; null when none comes in time. It is paused: the app says nothing before its first byte.
   */
  tunnel(ms = WAIT_MS): Promise<Socket | null> {
    const waiting = this.waiting.shift();
    if (waiting) return Promise.resolve(waiting);
    return new Promise((resolve) => {
      const take = (found: Socket | null) => {
        clearTimeout(timer);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.visitors.splice(this.visitors.indexOf(take), 1);
        resolve(null);
      }, ms);
      this.visitors.push(take);
    });
  }

  /** Whether the container has a connection here, used or not. Without one, the app may have ended. */
  get reached(): boolean {
    return this.tunnels > 0;
  }

  private track(socket: Socket): void {
    this.open.add(socket);
    socket.on('error', () => {}).on('close', () => this.open.delete(socket));
  }

  /** A connection from inside. One that says something else than a port is not ours. */
  private greet(tunnel: Socket): void {
    if (this.tunnels >= MAX_TUNNELS) return void tunnel.destroy();
    this.tunnels += 1;
    this.track(tunnel);
    tunnel.on('close', () => {
      this.tunnels -= 1;
      const at = this.waiting.indexOf(tunnel);
      if (at >= 0) this.waiting.splice(at, 1);
    });
    tunnel.once('data', (said: Buffer) => {
      const port = HELLO.exec(said.toString('latin1'))?.[1];
      if (port === undefined) return void tunnel.destroy();
      this.appPort = Number(port);
      tunnel.pause();
      this.offer(tunnel);
    });
  }

  private offer(tunnel: Socket): void {
    const visitor = this.visitors.shift();
    if (visitor) visitor(tunnel);
    else if (!tunnel.destroyed) this.waiting.push(tunnel);
  }

  private async visit(visitor: Socket): Promise<void> {
    this.track(visitor);
    const tunnel = await this.tunnel();
    if (tunnel && !visitor.destroyed) return join(visitor, tunnel);
    visitor.destroy();
    if (tunnel) this.offer(tunnel);
  }
}

function join(visitor: Socket, tunnel: Socket): void {
  visitor.pipe(tunnel);
  tunnel.pipe(visitor);
  for (const [one, other] of [
    [visitor, tunnel],
    [tunnel, visitor],
  ] as const)
    one.on('error', () => other.destroy()).on('close', () => other.destroySoon());
}
