import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** The end of a text has to be in view this long; ms. */
const READ_MS = 700;
/** questions whose whole text was in view, with the time by a clock that nobody can set */
const shownSince = new Map<string, number>();

/**
 * Which of these questions a person has seen whole, and for how long: the server asks for it with words such as "yes".
 */
export const displayed = (ids: readonly string[]): Array<{ id: string; ms: number }> =>
  ids.flatMap((id) => {
    const since = shownSince.get(id);
    return since === undefined ? [] : [{ id, ms: Math.round(performance.now() - since) }];
  });

/**
 * Whether the end of a question's text, which is marked by the element, has been in view. `complete`: all of it has
 * been loaded.
 */
export function useSeen(id: string, end: RefObject<HTMLElement | null>, complete: boolean): boolean {
  const [seen, setSeen] = useState(() => shownSince.has(id));
  useEffect(() => {
    const element = end.current;
    if (seen || !complete || !element) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let inView = false;
    const look = () => {
      clearTimeout(timer);
      if (!inView || document.hidden) return;
      timer = setTimeout(() => {
        shownSince.set(id, performance.now() - READ_MS);
        setSeen(true);
      }, READ_MS);
    };
    const observer = new IntersectionObserver(([entry]) => {
      inView = entry?.isIntersecting ?? false;
      look();
    });
    observer.observe(element);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      document.removeEventListener('visibilitychange', look);
    };
  }, [id, complete, seen]);
  return seen;
}
