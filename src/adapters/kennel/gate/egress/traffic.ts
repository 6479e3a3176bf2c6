import type { Reached, Refused } from '../../../../store/kennel/egress.ts';
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

/**
 * Counts the refusals of one task. A container can make thousands of refused requests a second; the store is told once
 * in `everyMs`.
 */
export interface RefusedHosts {
  /** True the first time for a host and port, which is worth a log line. */
  count(target: Target): boolean;
  /** More refusals than any program needs in a short time; further requests are not even answered. */
  tooMany(): boolean;
  /** Stores the remaining counts. Never throws, because a lost count does no harm. */
  settle(): Promise<void>;
}

const MAX_REFUSED = 100;
const WINDOW_MS = 10_000;
const MAX_IN_WINDOW = 200;

export function createRefusedHosts(store: (refusals: Refused[]) => Promise<void>, everyMs = 1000): RefusedHosts {
  const known = new Set<string>();
  let pending = new Map<string, Refused>();
  let timer: NodeJS.Timeout | undefined;
  let storing: Promise<void> = Promise.resolve();
  let window = { begins: 0, count: 0 };

  const flush = (): void => {
    timer = undefined;
    const taken = pending;
    pending = new Map();
    storing = storing.then(() => store([...taken.values()])).catch(() => {});
  };
  const keyOf = ({ host, port }: Target): string => `${host}:${port}`;

  return {
    count(target) {
      const now = Date.now();
      if (now - window.begins > WINDOW_MS) window = { begins: now, count: 0 };
      window.count += 1;
      const first = !known.has(keyOf(target)) && known.size < MAX_REFUSED;
      if (first) known.add(keyOf(target));
      const row = known.has(keyOf(target)) ? target : OTHERS;
      const sum = pending.get(keyOf(row)) ?? { host: row.host, port: row.port, refused: 0 };
      pending.set(keyOf(row), { ...sum, refused: sum.refused + 1 });
      timer ??= setTimeout(flush, everyMs).unref();
      return first;
    },
    tooMany: () => Date.now() - window.begins <= WINDOW_MS && window.count >= MAX_IN_WINDOW,
    async settle() {
      clearTimeout(timer);
      if (pending.size) flush();
      await storing;
    },
  };
}
