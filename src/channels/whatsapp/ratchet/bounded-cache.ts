/** A map that forgets what was not used for longest, above `max` entries. */
export class BoundedCache<V> {
  readonly #max: number;
  readonly #entries = new Map<string, V>();
  constructor(max: number) {
    this.#max = max;
  }
  has(key: string): boolean {
    return this.#entries.has(key);
  }
  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }
  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#max) this.#entries.delete(this.#entries.keys().next().value!);
  }
  delete(key: string): void {
    this.#entries.delete(key);
  }
  clear(): void {
    this.#entries.clear();
  }
}

/** A cache in the shape that Baileys asks for, bounded in size and age; it lives longer than a socket. */
export function baileysCache(max: number, ttlMs: number) {
  const entries = new BoundedCache<{ value: unknown; until: number }>(max);
  const get = <T>(key: string): T | undefined => {
    const entry = entries.get(key);
    if (!entry) return undefined;
    if (entry.until > Date.now()) return entry.value as T;
    entries.delete(key);
    return undefined;
  };
  const set = <T>(key: string, value: T): void => entries.set(key, { value, until: Date.now() + ttlMs });
  return {
    get,
    set,
    del: (key: string): void => entries.delete(key),
    flushAll: (): void => entries.clear(),
    mget: async <T>(keys: string[]): Promise<Record<string, T | undefined>> => Object.fromEntries(keys.map((key) => [key, get<T>(key)])),
    mset: <T>(pairs: Array<{ key: string; value: T }>): void => {
      for (const { key, value } of pairs) set(key, value);
    },
    mdel: (keys: string[]): void => {
      for (const key of keys) entries.delete(key);
    },
  };
}
