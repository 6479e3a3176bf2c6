import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../shared/elements/icons.tsx';
import { tell } from '../shared/elements/parts.tsx';
import { reasonOf } from '../shared/server/http.ts';
import { texts } from '../texts.ts';
import type { ThreadView } from './thread-state.ts';
import { Turn } from './turn.tsx';

/** So close to the end, the log follows it; px. */
const NEAR = 80;

/** What was said, newest at the bottom. It stays at the end while somebody reads there, and where it is otherwise. */
export function ThreadLog({
  view,
  older,
  children,
}: {
  view: ThreadView;
  older: () => Promise<void>;
  children: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);
  const toEnd = () => {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  };
  useStayAtEnd(inner, atEnd, toEnd);
  const { anchor, loading, load } = useOlder(box, older);
  useLayoutEffect(anchor, [view.turns[0]?.record.id]);
  const onScroll = () => {
    // a scroll that began before another part was opened is told after it
    const element = box.current;
    if (!element) return;
    const near = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    atEnd.current = near;
    if (away === near) setAway(!near);
  };
  return (
    <div class="log-frame">
      <div
        class="log"
        ref={box}
        onScroll={onScroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
        tabIndex={0}
        role="log"
        aria-label={texts.chats.messages}
        aria-live="off"
      >
        <div class="log-inner" ref={inner}>
          {view.before === null ? (
            <p class="log-begin">{texts.chats.begin}</p>
          ) : (
            <button type="button" class="button small quiet older" disabled={loading} onClick={() => void load()}>
              {loading ? texts.chats.loadingOlder : texts.chats.older}
            </button>
          )}
          {view.turns.map((turn) => (
            <Turn key={turn.record.id} turn={turn} threadId={view.thread.id} />
          ))}
          {children}
        </div>
      </div>
      {away && (
        <button type="button" class="to-end" onClick={toEnd} aria-label={texts.chats.newest}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

/** Follows everything that makes the log longer: words, pictures that load, questions. */
function useStayAtEnd(inner: { current: HTMLElement | null }, atEnd: { current: boolean }, toEnd: () => void): void {
  useLayoutEffect(() => {
    toEnd();
    const observer = new ResizeObserver(() => atEnd.current && toEnd());
    observer.observe(inner.current!);
    return () => observer.disconnect();
  }, []);
}

/** Reads older turns when somebody scrolls to the top, and leaves what is read where it is. */
function useOlder(box: { current: HTMLElement | null }, older: () => Promise<void>) {
  const [loading, setLoading] = useState(false);
  const height = useRef<number | null>(null);
  const busy = useRef(false);
  const load = async () => {
    if (busy.current) return;
    busy.current = true;
    setLoading(true);
    height.current = box.current?.scrollHeight ?? null;
    await older().catch((error) => tell(reasonOf(error), true));
    busy.current = false;
    setLoading(false);
  };
  useEffect(() => {
    const element = box.current!;
    const atTop = () => {
      if (element.scrollTop < 40 && element.scrollHeight > element.clientHeight && element.querySelector('.older'))
        void load();
    };
    element.addEventListener('scroll', atTop, { passive: true });
    return () => element.removeEventListener('scroll', atTop);
  }, [older]);
  const anchor = () => {
    if (height.current === null || !box.current) return;
    box.current.scrollTop += box.current.scrollHeight - height.current;
    height.current = null;
  };
  return { anchor, loading, load };
}
