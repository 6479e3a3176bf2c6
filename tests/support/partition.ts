import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that can be cut as a network is: what was connected stays so, and nothing passes in either direction. */
export interface Partition {
  port: number;
  cut(): void;
  /** what was cut goes on */
  heal(): void;
  /** what is connected now stays cut for ever; new connections are as usual */
  lose(): void;
  close(): Promise<void>;
}

export async function startPartition(target: { host: string; port: number }): Promise<Partition> {
  const pairs = new Set<[Socket, Socket]>();
  const lost = new Set<[Socket, Socket]>();
  let whole = true;
  const join = (pair: [Socket, Socket], from: Socket, to: Socket): void => {
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => {
      if (whole && !lost.has(pair)) from.resume();
    });
  };
  const server = createServer((inner) => {
    const outer = connect(target);
    const pair: [Socket, Socket] = [inner, outer];
    pairs.add(pair);
    join(pair, inner, outer);
    join(pair, outer, inner);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        lost.delete(pair);
        for (const each of pair) each.destroy();
      });
      if (!whole) socket.pause();
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const all = (act: (socket: Socket) => void, but: ReadonlySet<[Socket, Socket]> = new Set()): void => {
    for (const pair of pairs) if (!but.has(pair)) for (const socket of pair) act(socket);
  };
  return {
    port: (server.address() as { port: number }).port,
    cut: () => {
      whole = false;
      all((socket) => socket.pause());
    },
    heal: () => {
      whole = true;
      all((socket) => socket.resume(), lost);
    },
    lose: () => {
      all((socket) => socket.pause());
      for (const pair of pairs) lost.add(pair);
    },
    close: async () => {
      all((socket) => socket.destroy());
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
