import { LRUCache } from 'lru-cache';

/** A cache with Baileys' interface, limited in size and age. It outlives a socket. */
export function baileysCache(max: number, ttlMs: number) {
  const entries = new LRUCache<string, { value: unknown }>({ max, ttl: ttlMs });
  const get = <T>(key: string): T | undefined => entries.get(key)?.value as T | undefined;
  const set = <T>(key: string, value: T): void => void entries.set(key, { value });
  const del = (key: string): void => void entries.delete(key);
  return {
    get,
    set,
    del,
    flushAll: (): void => entries.clear(),
    mget: async <T>(keys: string[]): Promise<Record<string, T | undefined>> =>
      Object.fromEntries(keys.map((key) => [key, get<T>(key)])),
    mset: <T>(pairs: Array<{ key: string; value: T }>): void => {
      for (const { key, value } of pairs) set(key, value);
    },
    mdel: (keys: string[]): void => keys.forEach(del),
  };
}
