import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../support/until.ts';

/** Web pages that answer when they are told to: what makes a tool call last exactly as long as a test needs. */
export interface HeldPages {
  url(name: string): string;
  /** waits until the page has been asked for so often */
  asked(name: string, times?: number): Promise<unknown>;
  release(name: string): void;
  close(): Promise<void>;
}

export async function startHeldPages(): Promise<HeldPages> {
  const waiting = new Map<string, Array<() => void>>();
  const released = new Set<string>();
  const count = new Map<string, number>();
  const server = createServer((request, response) => {
    const name = request.url ?? '';
    count.set(name, (count.get(name) ?? 0) + 1);
    const answer = () => response.writeHead(200, { 'content-type': 'text/plain' }).end('the page');
    if (released.has(name)) answer();
    else waiting.set(name, [...(waiting.get(name) ?? []), answer]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    asked: (name, times = 1) => until(`the page ${name} is asked for`, () => (count.get(`/${name}`) ?? 0) >= times),
    release(name) {
      released.add(`/${name}`);
      for (const answer of waiting.get(`/${name}`) ?? []) answer();
      waiting.delete(`/${name}`);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
