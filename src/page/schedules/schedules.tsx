import { useEffect, useState } from 'preact/hooks';
import type { OwnerSchedule, OwnerSchedules, ScheduleAsked, SchedulePreview } from '../../contracts/owner.ts';
import { ChatChoice } from '../shared/elements/chat-choice.tsx';
import { Icon } from '../shared/elements/icons.tsx';
import { Actions, Ago, ChatLink, Empty, Shown, Tag, tell } from '../shared/elements/parts.tsx';
import { moment } from '../shared/figures.ts';
import { goTo } from '../shared/route.ts';
import { call, reasonOf, send } from '../shared/server/http.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';

/** The list of schedules, and the form for a new one. */
export const SchedulesPart = () => (
  <div class="page-column">
    <h1>{texts.parts.schedules}</h1>
    <NewSchedule />
    <Shown of={schedules} loaded={useResource(schedules)}>
      {({ schedules: all }) =>
        all.length === 0 ? (
          <Empty title={texts.schedules.none} icon="schedules">
            {texts.schedules.noneMore}
          </Empty>
        ) : (
          <div class="cards">
            {all.map((each) => (
              <Schedule key={each.id} schedule={each} />
            ))}
          </div>
        )
      }
    </Shown>
  </div>
);

function Schedule({ schedule }: { schedule: OwnerSchedule }) {
  const { name, kind, what, chat, enabled, when, time_zone, next, runs, actions } = schedule;
  return (
    <article class="card" aria-label={name}>
      <div class="card-head">
        <div class="row-main">
          <h2>{name}</h2>
          <p class="meta">
            <Tag tone={enabled ? 'good' : 'plain'}>
              {enabled ? texts.schedules.kinds[kind] : texts.schedules.paused}
            </Tag>
            {when && <span>{when}</span>}
            {time_zone !== zone() && <span>{time_zone}</span>}
            {chat && <ChatLink chat={chat} />}
          </p>
        </div>
        <div class="row-actions">
          <Actions actions={actions} after={() => schedules.refresh()} />
        </div>
      </div>
      {what && what !== name && <p class="what">{what}</p>}
      <div class="columns">
        <section>
          <h3>{texts.schedules.next}</h3>
          {next.length === 0 ? (
            <p class="hint">{enabled ? texts.schedules.over : texts.schedules.paused}</p>
          ) : (
            <ol class="plain-list">
              {next.map((at) => (
                <li key={at}>
                  <time dateTime={at}>{moment(Date.parse(at))}</time>
                </li>
              ))}
            </ol>
          )}
        </section>
        <section>
          <h3>{texts.schedules.last}</h3>
          {runs.length === 0 ? <p class="hint">{texts.schedules.noRuns}</p> : <Runs runs={runs} />}
        </section>
      </div>
    </article>
  );
}

const MARKS = { running: 'play', completed: 'check', failed: 'failed' } as const;

const Runs = ({ runs }: { runs: OwnerSchedule['runs'] }) => (
  <ul class="plain-list">
    {runs.slice(0, 5).map(({ id, status, started_at: at, summary }) => (
      <li key={id} class={`run ${status}`}>
        <Icon name={MARKS[status]} size={14} />
        <span class="sr">{texts.schedules.run[status]}</span>
        <Ago at={at} />
        {summary && <span class="run-summary">{summary}</span>}
      </li>
    ))}
  </ul>
);

const schedules = new Resource<OwnerSchedules>('/v1/owner/schedules', ({ about }) => about === 'schedules', 1_000);

/** After the last key; ms. */
const REST_MS = 350;
const zone = (): string | undefined => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A schedule in words: when it would fire is shown before it is made. */
function NewSchedule() {
  const [text, setText] = useState('');
  const [chat, setChat] = useState('');
  const [busy, setBusy] = useState(false);
  const { preview, problem } = usePreview(text);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { thread_id: thread } = await send<ScheduleAsked>('/v1/owner/schedules', {
        body: { text, ...(chat && { thread_id: chat }) },
      });
      tell(texts.schedules.created);
      setText('');
      schedules.refresh();
      goTo('chats', thread);
    } catch (error) {
      tell(reasonOf(error), true);
    }
    setBusy(false);
  };
  return (
    <form class="card new-schedule" onSubmit={submit} aria-label={texts.schedules.make}>
      <label class="field">
        <span>{texts.schedules.words}</span>
        <input
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          placeholder={texts.schedules.example}
          autoComplete="off"
        />
      </label>
      <ChatChoice label={texts.schedules.in} first={texts.chats.channels.console!} chosen={chat} choose={setChat} />
      <div aria-live="polite">
        {preview && (
          <>
            <p class="meta">
              {texts.schedules.preview} <span>{preview.time_zone}</span>
            </p>
            <ol class="firings">
              {preview.described.map((each) => (
                <li key={each}>{each}</li>
              ))}
            </ol>
            {preview.estimate && <p class="meta">{preview.estimate}</p>}
          </>
        )}
        {problem && <p class="hint">{problem}</p>}
      </div>
      <button type="submit" class="button primary" disabled={busy || preview === null}>
        {texts.schedules.create}
      </button>
    </form>
  );
}

function usePreview(text: string): { preview: SchedulePreview | null; problem: string | null } {
  const [found, setFound] = useState<{ preview: SchedulePreview | null; problem: string | null }>({
    preview: null,
    problem: null,
  });
  useEffect(() => {
    if (text.trim().length < 3) return setFound({ preview: null, problem: null });
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call<SchedulePreview>('/v1/owner/schedules/preview', {
        method: 'POST',
        body: { text, time_zone: zone() },
        signal: stop.signal,
      })
        .then((preview) => setFound({ preview, problem: null }))
        .catch((error) => {
          if (!stop.signal.aborted) setFound({ preview: null, problem: reasonOf(error) });
        });
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return found;
}
