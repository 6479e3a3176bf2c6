import { useEffect, useState } from 'preact/hooks';
import type { ScheduleAsked, SchedulePreview } from '../../contracts/owner.ts';
import { tell } from '../shared/elements/notices.tsx';
import { goTo } from '../shared/route.ts';
import { call, reasonOf, send } from '../shared/server/http.ts';
import { texts } from '../texts.ts';
import { schedules } from './data.ts';

/** After the last key; ms. */
const REST_MS = 350;
const zone = (): string | undefined => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A schedule in words: when it would fire is shown before it is made. */
export function NewSchedule() {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const { preview, problem } = usePreview(text);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { thread_id: thread } = await send<ScheduleAsked>('/v1/owner/schedules', { body: { text } });
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
      <div aria-live="polite">
        {preview && (
          <>
            <p class="meta">
              {texts.schedules.preview} <code>{preview.expression}</code> <span>{preview.time_zone}</span>
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
