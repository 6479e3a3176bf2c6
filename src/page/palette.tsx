import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { goTo, linkTo } from './shared/route.ts';
import { useResource } from './shared/server/resource.ts';
import { summaries } from './shared/summaries.ts';
import { tasks } from './tasks/shared.tsx';
import { texts } from './texts.ts';

/** Keys for the whole page: `/` searches or writes, `?` says which keys there are, Ctrl-K goes anywhere. */

type Open = 'places' | 'keys' | null;
const MOST_SHOWN = 12;

export function Palette() {
  const [open, setOpen] = useState<Open>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.isComposing) return;
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen('places');
      } else if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
      else if (event.key === '?') setOpen('keys');
      else if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('main input[type="search"], main textarea');
        if (!field) return;
        event.preventDefault();
        field.focus();
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  if (open === null) return null;
  return <Dialog close={() => setOpen(null)}>{open === 'keys' ? <Keys /> : <Places />}</Dialog>;
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

function Dialog({ close, children }: { close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // a link leads elsewhere
    addEventListener('hashchange', close);
    return () => removeEventListener('hashchange', close);
  }, []);
  return (
    <dialog ref={dialog} class="palette" aria-label={texts.keys.title} onClose={close}>
      {children}
      <form method="dialog">
        <button type="submit" class="button small quiet">
          {texts.close}
        </button>
      </form>
    </dialog>
  );
}

const Keys = () => (
  <dl class="keys">
    {texts.keys.all.map(([key, what]) => (
      <div key={key}>
        <dt>
          <kbd>{key}</kbd>
        </dt>
        <dd>{what}</dd>
      </div>
    ))}
  </dl>
);

function Places() {
  const [words, setWords] = useState('');
  const chats = useResource(summaries).value ?? [];
  const recent = useResource(tasks).value?.tasks ?? [];
  const places = [
    ...Object.entries(texts.parts).map(([part, name]) => ({ name, parts: [part] })),
    ...Object.entries(texts.settings.sections).map(([section, name]) => ({
      name: `${texts.parts.settings}: ${name}`,
      parts: ['settings', section],
    })),
    ...chats.map(({ id, label, preview }) => ({ name: `${label}: ${preview}`, parts: ['chats', id] })),
    ...recent.map(({ id, goal }) => ({ name: `${texts.tasks.one}: ${goal}`, parts: ['tasks', id] })),
  ];
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = places
    .filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)))
    .slice(0, MOST_SHOWN);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (found[0]) goTo(...found[0].parts);
      }}
    >
      <input
        type="search"
        aria-label={texts.keys.search}
        placeholder={texts.keys.search}
        autoComplete="off"
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <ul class="places">
        {found.map(({ name, parts }) => (
          <li key={parts.join('/')}>
            <a class="list-row" href={linkTo(...parts)}>
              <bdi class="list-name">{name}</bdi>
            </a>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="hint">{texts.keys.nothing}</p>}
    </form>
  );
}
