import type { Refused } from '../../../../store/kennel/egress.ts';
import type { Target } from './allow-list.ts';

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

const MAX_HOSTS = 100;
const WINDOW_MS = 10_000;
const MAX_IN_WINDOW = 200;
const OTHERS: Target = { host: '(others)', port: 0 };

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
      const first = !known.has(keyOf(target)) && known.size < MAX_HOSTS;
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
