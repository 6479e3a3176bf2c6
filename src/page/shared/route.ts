import { Store, useStore } from './store.ts';

/** `#/chats/thr_1` is `['chats', 'thr_1']`. */
const partsOf = (hash: string): string[] =>
  hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });

const route = new Store<string[]>([]);

export function followRoute(): void {
  const read = () => route.set(partsOf(location.hash));
  addEventListener('hashchange', read);
  read();
}

export const useRoute = (): string[] => useStore(route);
export const linkTo = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join('/')}`;
export const goTo = (...parts: string[]): void => {
  location.hash = linkTo(...parts);
};
