import { Component, type ComponentChildren, createElement, type FunctionComponent, type VNode } from 'preact';

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
