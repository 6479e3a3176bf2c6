/** Seeded random numbers (mulberry32): a run is told by its seed, as far as the operating system's timing allows. */
export interface Random {
  /** from 0 up to, but not including, 1 */
  next(): number;
  /** a whole number, both ends included */
  between(low: number, high: number): number;
  pick<T>(values: readonly T[]): T;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return { next, between, pick: (values) => values[between(0, values.length - 1)]! };
}
