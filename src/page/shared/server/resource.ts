import { useEffect } from 'preact/hooks';
import type { OwnerEvent, OwnerNow } from '../../../contracts/owner.ts';
import { Store, useStore } from '../store.ts';
import { call, reasonOf } from './http.ts';
import { untilWoken } from './wake.ts';

export interface Loaded<Value> {
  value: Value | null;
  /** why it could not be read the last time; an older value stays */
  problem: string | null;
}

/** Says which changes an answer depends on. */
type Concern = (event: OwnerEvent) => boolean;

/**
 * An answer of the server that is read again when something changed, not more often than `restMs`, and only while
 * somebody looks at it.
 */
export class Resource<Value> {
  readonly store = new Store<Loaded<Value>>({ value: null, problem: null });
  readonly #address: () => string;
  readonly #concern: Concern;
  readonly #restMs: number;
  #watchers = 0;
  #stale = true;
  #reading: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(address: string | (() => string), concern: Concern, restMs = 400) {
    this.#address = typeof address === 'string' ? () => address : address;
    this.#concern = concern;
    this.#restMs = restMs;
  }

  /** keeps it read until the returned function is called */
  watch(): () => void {
    if (this.#watchers++ === 0) watched.add(this as Resource<unknown>);
    if (this.#stale) this.#schedule();
    return () => {
      if (--this.#watchers > 0) return;
      watched.delete(this as Resource<unknown>);
      // what changes from now on is not told to it
      this.#stale = true;
    };
  }

  changed(event: OwnerEvent): void {
    if (event.about === 'all' || this.#concern(event)) this.refresh();
  }

  refresh(): void {
    this.#stale = true;
    if (this.#watchers > 0) this.#schedule();
  }

  /** forgets the answer, which belongs to another address now */
  reset(): void {
    this.store.set({ value: null, problem: null });
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.refresh();
  }

  #schedule(): void {
    if (this.#reading || this.#timer !== undefined) return;
    const wait = Math.max(0, this.#readAt + this.#restMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
        if (this.#stale && this.#watchers > 0) this.#schedule();
      });
    }, wait);
  }

  async #read(): Promise<void> {
    this.#stale = false;
    this.#readAt = performance.now();
    const address = this.#address();
    const signal = untilWoken();
    try {
      const value = await call<Value>(address, { signal });
      // the address may have changed while the answer was under way
      if (address === this.#address()) this.store.set({ value, problem: null });
    } catch (error) {
      if (signal.aborted) this.#stale = true;
      else this.store.set({ ...this.store.value, problem: reasonOf(error) });
    }
  }
}

/** The stream of changes tells each of them. */
const watched = new Set<Resource<unknown>>();
export const tellResources = (event: OwnerEvent): void => {
  for (const resource of watched) resource.changed(event);
};

export function useResource<Value>(resource: Resource<Value>): Loaded<Value> {
  useEffect(() => resource.watch(), [resource]);
  return useStore(resource.store);
}

/** Text that only streams in changes nothing in lists. */
export const moreThanText = ({ kinds }: OwnerEvent): boolean => kinds.some((kind) => kind !== 'item.delta');

/** What waits, runs and failed: every part needs it, for the badge and for questions inside a chat. */
export const now = new Resource<OwnerNow>(
  '/v1/owner/now',
  (event) => ['tasks', 'schedules'].includes(event.about) || moreThanText(event),
  350,
);
