import { Component, type ComponentChildren, createElement, type FunctionComponent, type VNode } from 'preact';
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

/** A component that is drawn again only when one of its properties is another value. */
export function memo<Props extends object>(draw: (props: Props) => ComponentChildren): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const now = this.props as Record<string, unknown>;
      const names = Object.keys(next);
      return (
        names.length !== Object.keys(now).length ||
        names.some((name) => (next as Record<string, unknown>)[name] !== now[name])
      );
    }
    override render(): VNode {
      return createElement(draw as FunctionComponent<object>, this.props);
    }
  }
  return Memo as unknown as FunctionComponent<Props>;
}
