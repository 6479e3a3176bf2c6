import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that can be cut as a network is: what was connected stays so, and nothing passes in either direction. */
export interface Partition {
  port: number;
  cut(): void;
  heal(): void;
  close(): Promise<void>;
}

export async function startPartition(target: { host: string; port: number }): Promise<Partition> {
  const pairs = new Set<[Socket, Socket]>();
  let whole = true;
  const join = (from: Socket, to: Socket): void => {
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => {
      if (whole) from.resume();
    });
  };
  const server = createServer((inner) => {
    const outer = connect(target);
    const pair: [Socket, Socket] = [inner, outer];
    pairs.add(pair);
    join(inner, outer);
    join(outer, inner);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
      if (!whole) socket.pause();
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const all = (act: (socket: Socket) => void): void => {
    for (const pair of pairs) for (const socket of pair) act(socket);
  };
  return {
    port: (server.address() as { port: number }).port,
    cut: () => {
      whole = false;
      all((socket) => socket.pause());
    },
    heal: () => {
      whole = true;
      all((socket) => socket.resume());
    },
    close: async () => {
      all((socket) => socket.destroy());
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
