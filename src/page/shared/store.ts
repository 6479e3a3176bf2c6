import { useEffect, useState } from 'preact/hooks';

/** A value that parts of the page watch. */
export class Store<Value> {
  #value: Value;
  readonly #watchers = new Set<(value: Value) => void>();
  constructor(value: Value) {
    this.#value = value;
  }
  get value(): Value {
    return this.#value;
  }
  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher(value);
  }
  /** returns the end of watching */
  watch(watcher: (value: Value) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

/** The value of a store; the component is drawn again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, draw] = useState({});
  const seen = store.value;
  useEffect(() => {
    // it may have changed between drawing and this
    if (!Object.is(store.value, seen)) draw({});
    return store.watch(() => draw({}));
  }, [store]);
  return store.value;
}
