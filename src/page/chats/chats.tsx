import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ThreadRecord } from '../../contracts/records.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Ago, Dot, Empty, ListTitle, Shown, type Tone, WorkButton } from '../shared/elements/parts.tsx';
import { money } from '../shared/figures.ts';
import { goTo, linkTo } from '../shared/route.ts';
import { call, send } from '../shared/server/http.ts';
import { useResource } from '../shared/server/resource.ts';
import { memo } from '../shared/store.ts';
import { found, LISTED, SUMMARIES, stateOf, summaries, type ThreadSummary } from '../shared/summaries.ts';
import { texts } from '../texts.ts';
import { ThreadPane } from './thread-pane.tsx';

/** The list, and the chat that was chosen. On a phone, one of the two. */
export const ChatsPart = ({ rest: [id] }: { rest: string[] }) => (
  <div class={`split ${id ? 'chosen' : ''}`}>
    <h1 class="sr">{texts.parts.chats}</h1>
    <ChatList chosen={id} />
    {id ? (
      <ThreadPane key={id} id={id} />
    ) : (
      <div class="pane placeholder">
        <Empty title={texts.chats.choose} icon="chats">
          {texts.chats.chooseMore}
        </Empty>
      </div>
    )}
  </div>
);

function ChatList({ chosen }: { chosen: string | undefined }) {
  const [words, setWords] = useState('');
  return (
    <section class="list-pane" aria-label={texts.chats.list}>
      <header class="list-head">
        <ListTitle text={texts.parts.chats} />
        <WorkButton
          label={texts.chats.fresh}
          icon="plus"
          kind="primary"
          work={async () => {
            const { id } = await send<ThreadRecord>('/v1/threads', { body: {} });
            summaries.refresh();
            goTo('chats', id);
          }}
        />
      </header>
      <label class="search">
        <Icon name="search" size={16} />
        <input
          type="search"
          aria-label={texts.chats.search}
          placeholder={texts.chats.search}
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </label>
      <Shown of={summaries} loaded={useResource(summaries)}>
        {(chats) => <Rows chats={chats} words={words} chosen={chosen} />}
      </Shown>
    </section>
  );
}

function Rows({ chats, words, chosen }: { chats: ThreadSummary[]; words: string; chosen: string | undefined }) {
  const beyond = useBeyond(chats.length, words);
  const shown = useMemo(() => {
    const listed = new Set(chats.map(({ id }) => id));
    return [...found(chats, words), ...beyond.filter(({ id }) => !listed.has(id))];
  }, [chats, words, beyond]);
  if (chats.length === 0)
    return (
      <Empty title={texts.chats.none} icon="chats">
        {texts.chats.noneMore}
      </Empty>
    );
  if (shown.length === 0) return <Empty title={texts.chats.nothingFound} icon="search" />;
  return (
    <ul class="list">
      {shown.map((chat) => (
        <ChatRow key={chat.id} version={JSON.stringify(chat)} chosen={chat.id === chosen} />
      ))}
    </ul>
  );
}

/** Chats with these words that are older than those of the list: the server looks for them. */
function useBeyond(listed: number, words: string): ThreadSummary[] {
  const [chats, setChats] = useState<ThreadSummary[]>([]);
  useEffect(() => {
    setChats([]);
    if (listed < LISTED || !words.trim()) return;
    const ended = new AbortController();
    const path = `${SUMMARIES}&search=${encodeURIComponent(words.trim())}`;
    const timer = setTimeout(() => {
      call<ThreadSummary[]>(path, { signal: ended.signal }).then(setChats, () => {});
    }, 300);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [listed, words]);
  return chats;
}

const TONES: Record<ReturnType<typeof stateOf>, Tone> = {
  waiting: 'wait',
  working: 'busy',
  limited: 'wait',
  paused: 'plain',
  failed: 'bad',
  idle: 'plain',
};

/** `version`: the summary as text, so that a row is drawn again only when it changed. */
const ChatRow = memo(({ version, chosen }: { version: string; chosen: boolean }) => {
  const chat = JSON.parse(version) as ThreadSummary;
  const state = stateOf(chat);
  return (
    <li>
      <a class="list-row" href={linkTo('chats', chat.id)} aria-current={chosen ? 'true' : undefined}>
        <span class="list-line">
          {state !== 'idle' && <Dot tone={TONES[state]} />}
          <bdi class="list-name">{chat.label}</bdi>
          <span class="list-time">
            <Ago at={chat.updated_at} />
          </span>
        </span>
        <span class="list-preview">{chat.preview !== chat.title && chat.preview}</span>
        <span class="list-meta">
          <span class={`channel ${chat.channel}`}>{texts.chats.channels[chat.channel] ?? chat.channel}</span>
          {state !== 'idle' && <span class={`state ${TONES[state]}`}>{texts.chats.states[state]}</span>}
          {chat.cost_usd > 0 && <span>{money(chat.cost_usd)}</span>}
        </span>
      </a>
    </li>
  );
});
