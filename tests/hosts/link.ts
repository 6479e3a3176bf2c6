import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../chaos/random.ts';

/** How slow a way is: ms that each packet takes in each direction, and the share that is lost and sent again. */
export interface Slowness {
  ms: number;
  loss: number;
}

/** A way from a host's network to a server on this machine. */
export interface Link {
  port: number;
  slow(slowness: Slowness | null): void;
  close(): Promise<void>;
}

/** What a lost packet costs besides the way: TCP sends it again after this long, and what follows waits for it. */
const SENT_AGAIN_MS = 200;
/** Bytes of one packet. */
const PACKET = 1_448;

/**
 * Passes connections on to a port of loopback, where the servers listen. The kernel's own `netem` is a module that many
 * machines lack, so a slow way is made here: what TCP makes of delay and loss, not the loss itself. Cutting a way is
 * the kernel's work (`network.ts`).
 */
export async function openLink(address: string, target: number, random: Random): Promise<Link> {
  let slowness: Slowness | null = null;
  const sockets = new Set<Socket>();
  const delayOf = (bytes: number): number => {
    if (!slowness) return 0;
    const packets = Array.from({ length: Math.ceil(bytes / PACKET) });
    return slowness.ms + packets.reduce<number>((sum) => sum + (random.next() < slowness!.loss ? SENT_AGAIN_MS : 0), 0);
  };
  const pass = (from: Socket, to: Socket): void => {
    let before: Promise<unknown> = Promise.resolve();
    // in order: a packet that is late holds up those behind it
    const later = (act: () => void, bytes = 0): void => {
      const due = performance.now() + delayOf(bytes);
      before = before.then(() => (due > performance.now() ? pause(due - performance.now()) : null)).then(act);
    };
    from.on('data', (chunk) => later(() => to.write(chunk), chunk.length));
    from.on('end', () => later(() => to.end()));
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      later(() => to.destroy());
    });
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (inner) => {
    const outer = connect({ host: '127.0.0.1', port: target, allowHalfOpen: true, noDelay: true });
    for (const socket of [inner, outer]) sockets.add(socket);
    pass(inner, outer);
    pass(outer, inner);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as { port: number }).port,
    slow: (next) => {
      slowness = next;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
