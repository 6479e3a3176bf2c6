import type { Reached } from '../../../../store/kennel/egress.ts';
import type { Target } from './allow-list.ts';

/** Counts what the tunnels of one task carried, by host. The store is told at most once in `everyMs`. */
export interface TrafficCount {
  add(target: Target, bytes: { sent: number; received: number }): void;
  /** Stores what remains. Never throws. */
  settle(): Promise<void>;
}

/** A task reaches a few hosts; a pattern such as `*.example.com` could make many names. */
const MAX_HOSTS = 200;
const OTHERS: Target = { host: '(others)', port: 0 };

export function createTrafficCount(store: (traffic: Reached[]) => Promise<void>, everyMs = 1000): TrafficCount {
  const known = new Set<string>();
  let pending = new Map<string, Reached>();
  let timer: NodeJS.Timeout | undefined;
  let storing: Promise<void> = Promise.resolve();
  const keyOf = ({ host, port }: Target): string => `${host}:${port}`;

  const flush = (): void => {
    timer = undefined;
    const taken = [...pending.values()];
    pending = new Map();
    storing = storing.then(() => store(taken)).catch(() => {});
  };

  return {
    add(target, { sent, received }) {
      if (known.size < MAX_HOSTS) known.add(keyOf(target));
      const { host, port } = known.has(keyOf(target)) ? target : OTHERS;
      const sum = pending.get(keyOf({ host, port })) ?? { host, port, connections: 0, sent: 0, received: 0 };
      pending.set(keyOf({ host, port }), {
        host,
        port,
        connections: sum.connections + 1,
        sent: sum.sent + sent,
        received: sum.received + received,
      });
      timer ??= setTimeout(flush, everyMs).unref();
    },
    async settle() {
      clearTimeout(timer);
      if (pending.size > 0) flush();
      await storing;
    },
  };
}
