import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * One address in front of both APIs, as a load balancer gives it: a new connection goes to a backend that answers, the
 * next one to the other.
 */
export interface Front {
  url: string;
  /** how many connections each backend got */
  passed: number[];
  close(): Promise<void>;
}

const LOOK_MS = 500;
const ANSWER_MS = 1_500;

/** Connections to a backend that stopped answering are ended, so that clients come again and reach the other one. */
export async function openFront(backends: readonly string[]): Promise<Front> {
  const alive = backends.map(() => false);
  const passed = backends.map(() => 0);
  const open = backends.map(() => new Set<Socket>());
  let turn = 0;
  let over = false;
  const look = async (backend: string, at: number): Promise<void> => {
    while (!over) {
      alive[at] = await fetch(`${backend}/health`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
        ({ ok }) => ok,
        () => false,
      );
      if (!alive[at]) for (const socket of open[at]!) socket.destroy();
      await pause(LOOK_MS);
    }
  };
  const server = createServer({ noDelay: true }, (client) => {
    turn += 1;
    const at = [turn % backends.length, (turn + 1) % backends.length].find((each) => alive[each]);
    client.on('error', () => {});
    if (at === undefined) return void client.destroy();
    const { hostname, port } = new URL(backends[at]!);
    const backend = connect({ host: hostname, port: Number(port), noDelay: true });
    passed[at]! += 1;
    open[at]!.add(backend);
    backend.on('error', () => {});
    backend.on('close', () => {
      open[at]!.delete(backend);
      client.destroy();
    });
    client.on('close', () => backend.destroy());
    client.pipe(backend).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const looking = backends.map(look);
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    passed,
    async close() {
      over = true;
      for (const sockets of open) for (const socket of sockets) socket.destroy();
      await Promise.all([new Promise<void>((resolve) => server.close(() => resolve())), ...looking]);
    },
  };
}
