import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** how long a new connection waits for the gate to come back, in ms */
export const HOLD = 60_000;
const RETRY = 150;
const MAX_CONNECTIONS = 256;

/**
 * Forwards a loopback port to a unix socket. While the socket is missing or refuses (the process behind it restarts),
 * new connections are held and the socket is tried again. Connections that were open are closed.
 */
export async function forwardSocket(
  port: number,
  socketPath: string,
  hold = HOLD,
): Promise<{ port: number; close(): void }> {
  const open = new Set<Socket>();
  const closing = new AbortController();
  // half-open: a client that has sent its request and closed its side still waits for the answer
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    void reach(client, socketPath, Date.now() + hold, closing.signal).then((gate) => {
      if (!gate) return client.destroy();
      join(client, gate);
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, port);
  return {
    port: (server.address() as { port: number }).port,
    close() {
      closing.abort();
      server.close();
      for (const client of open) client.destroy();
    },
  };
}

async function reach(client: Socket, path: string, deadline: number, signal: AbortSignal): Promise<Socket | null> {
  while (!client.destroyed && !signal.aborted) {
    const gate = await tryOnce(path);
    if (gate) return gate;
    if (Date.now() > deadline) return null;
    await pause(RETRY);
  }
  return null;
}

function tryOnce(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const gate = connect({ path, allowHalfOpen: true });
    gate.once('connect', () => {
      gate.off('error', refused);
      resolve(gate);
    });
    const refused = () => resolve(null);
    gate.once('error', refused);
  });
}

function join(client: Socket, gate: Socket): void {
  gate.on('error', () => client.destroy());
  gate.once('close', () => client.destroySoon());
  client.once('close', () => gate.destroy());
  client.setNoDelay(true);
  client.pipe(gate);
  gate.pipe(client);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
