import { useState } from 'preact/hooks';
import type { OwnerRunning } from '../../contracts/owner.ts';
import { tell } from '../shared/elements/notices.tsx';
import { Actions, Ago, ChatLink, Dot, type Tone } from '../shared/elements/parts.tsx';
import { clock, money } from '../shared/figures.ts';
import { linkTo } from '../shared/route.ts';
import { reasonOf, send } from '../shared/server/http.ts';
import { texts } from '../texts.ts';

const TONES: Record<OwnerRunning['state'], Tone> = {
  queued: 'plain',
  running: 'busy',
  waiting: 'wait',
  limited: 'wait',
  paused: 'plain',
};

/** A turn, a task or a routine that runs: what it does, and what can be done about it. */
export function RunningRow({ running }: { running: OwnerRunning }) {
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
