import type { ComponentChild, ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { OwnerFailed, OwnerNow, OwnerRunning } from '../../contracts/owner.ts';
import type { ThreadRecord } from '../../contracts/records.ts';
import { ChatChoice } from '../shared/elements/chat-choice.tsx';
import { Actions, Ago, ChatLink, Dot, Empty, Head, Shown, type Tone, tell } from '../shared/elements/parts.tsx';
import { clock, money } from '../shared/figures.ts';
import { goTo, linkTo } from '../shared/route.ts';
import { reasonOf, send } from '../shared/server/http.ts';
import { now, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { QuestionCard } from './question-card.tsx';

const FailedRow = ({ failed: { kind, id, chat, title, why, at, actions } }: { failed: OwnerFailed }) => (
  <li class="row">
    <div class="row-main">
      <p class="row-title">
        <Dot tone="bad" />
        <a href={kind === 'task' ? linkTo('tasks', id) : linkTo('chats', chat.thread_id)}>{title}</a>
      </p>
      <p class="why">{why}</p>
      <p class="meta">
        <span>{texts.now.runs[kind]}</span>
        <ChatLink chat={chat} />
        <Ago at={at} />
      </p>
    </div>
    <div class="row-actions">
      <Actions actions={actions} after={() => now.refresh()} />
    </div>
  </li>
);

/** `rest`: the question that a notice was about. */
export const NowPart = ({ rest: [asked] }: { rest: string[] }) => (
  <div class="page-column">
    <h1>{texts.parts.now}</h1>
    <NewMessage />
    <Shown of={now} loaded={useResource(now)}>
      {(value) => <Everything {...value} asked={asked} />}
    </Shown>
  </div>
);

/** What is wanted, in a new chat or in one that there is. */
function NewMessage() {
  const [chat, setChat] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const text = String(new FormData(form).get('text')).trim();
    if (!text) return;
    setBusy(true);
    try {
      const id = chat || (await send<ThreadRecord>('/v1/threads', { body: {} })).id;
      await send(`/v1/threads/${encodeURIComponent(id)}/messages`, { body: { text } });
      form.reset();
      goTo('chats', id);
    } catch (error) {
      tell(reasonOf(error), true);
      setBusy(false);
    }
  };
  return (
    <form class="card new-message" onSubmit={submit} aria-label={texts.now.ask}>
      <textarea
        name="text"
        rows={2}
        aria-label={texts.now.ask}
        placeholder={texts.now.askHint}
        disabled={busy}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing || matchMedia('(pointer: coarse)').matches)
            return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
      />
      <div class="new-message-row">
        <ChatChoice label={texts.now.askIn} first={texts.chats.fresh} chosen={chat} choose={setChat} />
        <button type="submit" class="button primary" disabled={busy}>
          {texts.chats.send}
        </button>
      </div>
    </form>
  );
}

const Everything = ({
  waiting,
  running,
  watched,
  failed,
  waiting_count: count,
  asked,
}: OwnerNow & { asked: string | undefined }) => (
  <>
    <Listed title={texts.now.waiting} count={count} rows={[]}>
      {asked && !waiting.some(({ id }) => id === asked) && <p class="hint">{texts.now.over}</p>}
      {waiting.length === 0 && (
        <Empty title={texts.now.calm} icon="check">
          {texts.now.calmMore}
        </Empty>
      )}
      <div class="cards">
        {waiting.map((question) => (
          <QuestionCard key={question.id} question={question} chosen={question.id === asked} />
        ))}
      </div>
      {count > waiting.length && <p class="hint">{texts.now.beyond(count - waiting.length)}</p>}
    </Listed>
    <Listed title={texts.now.running} rows={running.map((each) => <RunningRow key={each.id} running={each} />)}>
      {running.length === 0 && <p class="hint">{texts.now.idle}</p>}
    </Listed>
    <Listed
      title={texts.now.watched}
      rows={watched.map(({ id, title, url, doing }) => (
        <li key={id} class="row">
          <p class="row-main">
            <a href={url ?? undefined}>{title}</a> {doing}
          </p>
        </li>
      ))}
    />
    <Listed title={texts.now.failed} rows={failed.map((each) => <FailedRow key={each.id} failed={each} />)} />
  </>
);

interface List {
  title: string;
  count?: number;
  rows: ComponentChild[];
  children?: ComponentChildren;
}

/** Nothing at all where there is neither a row nor a word beside. */
const Listed = ({ title, rows, count = rows.length, children }: List) =>
  (rows[0] || children) && (
    <section aria-label={title}>
      <Head title={title} count={count} />
      {children}
      {rows[0] && <ul class="rows">{rows}</ul>}
    </section>
  );

const TONES: Record<OwnerRunning['state'], Tone> = {
  queued: 'plain',
  running: 'busy',
  waiting: 'wait',
  limited: 'wait',
  paused: 'plain',
};

/** A turn, a task or a routine that runs: what it does, and what can be done about it. */
function RunningRow({ running }: { running: OwnerRunning }) {
  const { kind, id, chat, title, state, doing, since, until, cost_usd: cost, actions } = running;
  const [steering, setSteering] = useState(false);
  return (
    <li class="row running-row">
      <div class="row-main">
        <p class="row-title">
          <Dot tone={TONES[state]} />
          {kind === 'task' ? (
            <a href={linkTo('tasks', id)}>{title}</a>
          ) : (
            <a href={linkTo('chats', chat.thread_id)}>{title}</a>
          )}
        </p>
        {doing && <p class="doing">{doing}</p>}
        <p class="meta">
          <span>{texts.now.runs[kind]}</span>
          <span>{texts.now.states[state]}</span>
          {until && <span>{texts.now.until(clock(Date.parse(until)))}</span>}
          <ChatLink chat={chat} />
          <Ago at={since} />
          {cost > 0 && <span>{money(cost)}</span>}
        </p>
        {steering && <Steer threadId={chat.thread_id} done={() => setSteering(false)} />}
      </div>
      <div class="row-actions">
        {kind !== 'routine' && !steering && (
          <button type="button" class="button small quiet" onClick={() => setSteering(true)}>
            {texts.now.steer}
          </button>
        )}
        <Actions actions={actions} />
      </div>
    </li>
  );
}

/** Words for what runs; they are read at its next step. */
function Steer({ threadId, done }: { threadId: string; done: () => void }) {
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get('text')).trim();
    if (!text) return;
    setBusy(true);
    try {
      await send(`/v1/threads/${encodeURIComponent(threadId)}/messages`, { body: { text } });
      tell(texts.now.steered);
      done();
    } catch (error) {
      tell(reasonOf(error), true);
      setBusy(false);
    }
  };
  return (
    <form class="inline-form" onSubmit={submit}>
      <input
        name="text"
        aria-label={texts.now.steer}
        placeholder={texts.now.steerHint}
        autoComplete="off"
        disabled={busy}
        ref={(element) => element?.focus()}
      />
      <button type="submit" class="button small primary" disabled={busy}>
        {texts.now.send}
      </button>
      <button type="button" class="button small quiet" onClick={done}>
        {texts.cancel}
      </button>
    </form>
  );
}
