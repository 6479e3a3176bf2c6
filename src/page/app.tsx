import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ChatsPart } from './chats/chats.tsx';
import { NowPart } from './now/now.tsx';
import { Palette } from './palette.tsx';
import { SchedulesPart } from './schedules/schedules.tsx';
import { SettingsPart } from './settings/settings.tsx';
import { alertAbout } from './shared/alerts.ts';
import { Icon, type IconName } from './shared/elements/icons.tsx';
import { Notices } from './shared/elements/parts.tsx';
import { linkTo, useRoute } from './shared/route.ts';
import { now, useResource } from './shared/server/resource.ts';
import { connection } from './shared/server/sse.ts';
import { useStore } from './shared/store.ts';
import { nextTheme, setTheme, theme } from './shared/theme.ts';
import { SpendPart } from './spend/spend.tsx';
import { TasksPart } from './tasks/tasks.tsx';
import { texts } from './texts.ts';

type Part = keyof typeof texts.parts;
const PARTS = Object.keys(texts.parts) as Part[];
const VIEWS: Record<Part, (props: { rest: string[] }) => ComponentChildren> = {
  now: NowPart,
  chats: ChatsPart,
  tasks: TasksPart,
  schedules: SchedulesPart,
  spend: SpendPart,
  settings: SettingsPart,
};

/** The frame around each part: navigation, the state of the connection, and short notices. */
export function App() {
  const [first, ...rest] = useRoute();
  const part = PARTS.find((each) => each === first) ?? 'now';
  const View = VIEWS[part];
  const waiting = useWaiting();
  const main = useRef<HTMLElement>(null);
  useFocusOnChange(part, main);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {texts.skip}
      </button>
      <nav class="nav" aria-label={texts.navigation}>
        <a class="brand" href={linkTo('now')} aria-label={texts.name}>
          <Ball />
          <span>{texts.name}</span>
        </a>
        <ul>
          {PARTS.map((each) => (
            <li key={each}>
              <a href={linkTo(each)} aria-current={each === part ? 'page' : undefined}>
                <span class="nav-icon">
                  <Icon name={each as IconName} size={20} />
                  {each === 'now' && waiting > 0 && <span class="badge">{waiting > 99 ? '99+' : waiting}</span>}
                </span>
                <span>{texts.parts[each]}</span>
              </a>
            </li>
          ))}
        </ul>
        <div class="nav-foot">
          <ConnectionDot />
          <ThemeButton />
        </div>
      </nav>
      <main class={`main ${part}`} id="main" tabIndex={-1} ref={main}>
        <ConnectionBar />
        <View rest={rest} />
      </main>
      <Notices />
      <Palette />
    </div>
  );
}

function useWaiting(): number {
  const { value } = useResource(now);
  useEffect(() => {
    if (value) alertAbout(value.waiting, value.waiting_count);
  }, [value]);
  return value?.waiting_count ?? 0;
}

/** After a change of the part, the keyboard goes on in it. */
function useFocusOnChange(part: string, main: { current: HTMLElement | null }): void {
  const before = useRef(part);
  useEffect(() => {
    if (before.current !== part) main.current?.focus({ preventScroll: true });
    before.current = part;
  }, [part]);
}

function ConnectionDot() {
  const state = useStore(connection);
  return (
    <span class={`connection ${state}`} title={texts.connection[state]}>
      <span class={`dot ${state === 'open' ? 'good' : state === 'connecting' ? 'plain' : 'bad'}`} aria-hidden="true" />
      <span class="connection-text">{state === 'open' ? texts.connection.open : texts.connection.connecting}</span>
    </span>
  );
}

/** Says in words what is wrong; silent while all is well. */
function ConnectionBar() {
  const state = useStore(connection);
  const wrong = state === 'lost' || state === 'refused';
  return (
    <div role="status" class={wrong ? 'connection-bar' : 'connection-bar hidden'}>
      {wrong && texts.connection[state]}
    </div>
  );
}

const THEME_ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const;

function ThemeButton() {
  const value = useStore(theme);
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={texts.theme[value]}
      title={texts.theme[value]}
      onClick={() => setTheme(nextTheme(value))}
    >
      <Icon name={THEME_ICONS[value]} />
    </button>
  );
}

const Ball = () => (
  <svg class="ball" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
    <circle cx="12" cy="12" r="10" />
    <path d="M5 5c4.4 3.5 4.4 10.5 0 14M19 5c-4.4 3.5-4.4 10.5 0 14" />
  </svg>
);
