import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { OwnerAction, OwnerChat } from '../../../contracts/owner.ts';
import { texts } from '../../texts.ts';
import { ago, moment } from '../figures.ts';
import { linkTo } from '../route.ts';
import { reasonOf, send } from '../server/http.ts';
import type { Loaded, Resource } from '../server/resource.ts';
import { Store, useStore } from '../store.ts';
import { Icon, type IconName } from './icons.tsx';

/** Ticks while the page is open, so that "3 min ago" stays true. */
const minute = new Store(Date.now());
setInterval(() => minute.set(Date.now()), 15_000);
export const useNow = (): number => useStore(minute);

export function Ago({ at }: { at: string }) {
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={moment(time)}>
      {ago(time, Math.max(useNow(), time > Date.now() ? 0 : time))}
    </time>
  );
}

export type Tone = 'plain' | 'good' | 'wait' | 'bad' | 'busy';

export const Tag = ({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`tag ${tone}`}>{children}</span>
);

/** The state of something, as a dot; the words stand beside it. */
export const Dot = ({ tone }: { tone: Tone }) => <span class={`dot ${tone}`} aria-hidden="true" />;

export const Empty = ({ title, children, icon }: { title: string; children?: ComponentChildren; icon?: IconName }) => (
  <div class="empty">
    {icon && <Icon name={icon} size={28} />}
    <p class="empty-title">{title}</p>
    {children && <p>{children}</p>}
  </div>
);

/** What was read, or why not. An older answer stays when a newer one cannot be read. */
export function Shown<Value>({
  of,
  loaded,
  children,
}: {
  of: Resource<Value>;
  loaded: Loaded<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  if (loaded.value !== null)
    return (
      <>
        {loaded.problem && <Problem text={loaded.problem} />}
        {children(loaded.value)}
      </>
    );
  if (loaded.problem) return <Problem text={loaded.problem} again={() => of.refresh()} />;
  return <Loading />;
}

export const Loading = () => (
  <p class="loading" role="status">
    {texts.loading}
  </p>
);

export const Problem = ({ text, again }: { text: string; again?: () => void }) => (
  <div class="problem" role="alert">
    <Icon name="warning" />
    <p>{text}</p>
    {again && (
      <button type="button" class="button small" onClick={again}>
        {texts.again}
      </button>
    )}
  </div>
);

/** Where something belongs, as a link. */
export const ChatLink = ({ chat }: { chat: OwnerChat }) => (
  <a class="chat-link" href={linkTo('chats', chat.thread_id)}>
    <span class={`channel ${chat.channel}`}>{texts.chats.channels[chat.channel] ?? chat.channel}</span>
    <bdi>{chat.name}</bdi>
  </a>
);

interface WorkProps {
  label: string;
  icon?: IconName;
  kind?: 'primary' | 'danger' | 'quiet';
  disabled?: boolean;
  /** asked before it is done */
  sure?: string;
  work(): Promise<unknown>;
}

/** A button that works for a while, and says how it went. One that cannot be taken back asks first. */
export function WorkButton({ label, icon, kind, disabled, sure, work }: WorkProps) {
  const [state, setState] = useState<'idle' | 'sure' | 'busy'>('idle');
  const alive = useAlive();
  const run = async () => {
    setState('busy');
    try {
      const said = await work();
      if (typeof said === 'string') tell(said);
    } catch (error) {
      tell(reasonOf(error), true);
    }
    if (alive.current) setState('idle');
  };
  if (state === 'sure')
    return (
      <span class="sure">
        <span>{sure}</span>
        <button type="button" class="button small danger" onClick={run} ref={(element) => element?.focus()}>
          {label}
        </button>
        <button type="button" class="button small quiet" onClick={() => setState('idle')}>
          {texts.cancel}
        </button>
      </span>
    );
  return (
    <button
      type="button"
      class={`button small ${kind ?? ''}`}
      disabled={disabled || state === 'busy'}
      aria-busy={state === 'busy'}
      onClick={() => (sure ? setState('sure') : void run())}
    >
      {icon && <Icon name={icon} size={16} />}
      {label}
    </button>
  );
}

export function useAlive(): { current: boolean } {
  const alive = useRef(true);
  useEffect(() => {
    alive.current = true;
    return () => {
      alive.current = false;
    };
  }, []);
  return alive;
}

const ACTION_ICONS: Partial<Record<OwnerAction['name'], IconName>> = {
  stop: 'stop',
  pause: 'pause',
  resume: 'play',
  undo: 'undo',
  redo: 'redo',
  again: 'redo',
  seen: 'check',
  run: 'play',
  remove: 'close',
};

/** Actions that the server offers for an entry. */
export const Actions = ({ actions, after }: { actions: OwnerAction[]; after?: () => void }) => (
  <>
    {actions.map((action) => (
      <WorkButton
        key={action.name}
        label={texts.actions[action.name]}
        icon={ACTION_ICONS[action.name]}
        kind="quiet"
        sure={texts.sure[action.name]}
        work={async () => {
          const { reply } = await send<{ reply?: string | null }>(action.path, {
            method: action.method,
            ...(action.body && { body: action.body }),
          });
          after?.();
          return reply ?? texts.done[action.name];
        }}
      />
    ))}
  </>
);

/**
 * The title over a list. The heading of the part itself is not in the list, because a phone hides the list beside what
 * was chosen in it.
 */
export const ListTitle = ({ text }: { text: string }) => (
  <p class="list-title" aria-hidden="true">
    {text}
  </p>
);

/** A heading with what belongs to it at the right. */
export const Head = ({ title, count, children }: { title: string; count?: number; children?: ComponentChildren }) => (
  <header class="head">
    <h2>
      {title}
      {count !== undefined && count > 0 && <span class="count">{count}</span>}
    </h2>
    {children}
  </header>
);

/** Short messages about what a person just did. */
interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const notices = new Store<Notice[]>([]);
let last = 0;

export function tell(text: string, bad = false): void {
  const id = ++last;
  notices.set([...notices.value.slice(-2), { id, text, bad }]);
  setTimeout(() => notices.set(notices.value.filter((each) => each.id !== id)), bad ? 9_000 : 4_000);
}

/** The region is there from the start, so that screen readers say what appears in it. */
export const Notices = () => (
  <div class="notices" role="status" aria-live="polite">
    {useStore(notices).map(({ id, text, bad }) => (
      <p key={id} class={bad ? 'notice bad' : 'notice'}>
        {text}
      </p>
    ))}
  </div>
);
