import { useEffect, useRef, useState } from 'preact/hooks';
import type { OwnerQuestion } from '../../contracts/owner.ts';
import { ApiError } from '../../domain/api-error.ts';
import { looksLikeDiff } from '../../domain/text/diff.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Ago, ChatLink, Tag, tell } from '../shared/elements/parts.tsx';
import { linkTo } from '../shared/route.ts';
import { useSeen } from '../shared/seen.ts';
import { call, reasonOf, send } from '../shared/server/http.ts';
import { now } from '../shared/server/resource.ts';
import { memo } from '../shared/store.ts';
import { Diff } from '../shared/text/diff-view.tsx';
import { texts } from '../texts.ts';

/**
 * An open question with everything that its answer counts for. A yes can be given only after the end of that was in
 * view.
 */
export const QuestionCard = memo(
  ({ question: given, chosen = false }: { question: OwnerQuestion; chosen?: boolean }) => {
    const question = useWhole(given);
    const end = useRef<HTMLSpanElement>(null);
    const seen = useSeen(question.id, end, question.evidence_rest === 0);
    const { busy, answer } = useAnswer(question);
    const { kind, chat, task, prompt, tainted } = question;
    const card = useRef<HTMLElement>(null);
    useEffect(() => {
      if (chosen) card.current?.scrollIntoView({ block: 'start' });
    }, [chosen]);
    return (
      <article
        ref={card}
        class={`card question ${tainted ? 'tainted' : ''} ${chosen ? 'chosen' : ''}`}
        aria-label={`${texts.now.kinds[kind]}: ${prompt.slice(0, 80)}`}
      >
        <p class="meta">
          <Tag tone="wait">{texts.now.kinds[kind]}</Tag>
          <ChatLink chat={chat} />
          {task && (
            <a href={linkTo('tasks', task.id)}>
              <bdi>{task.workspace}</bdi>
            </a>
          )}
          <Ago at={question.asked_at} />
          {question.delivered_at === null && <span>{texts.now.notDelivered}</span>}
        </p>
        <p class="prompt">{prompt}</p>
        {tainted && (
          <p class="warning">
            <Icon name="warning" size={16} />
            {texts.now.tainted}
          </p>
        )}
        {question.evidence !== null && <Evidence text={question.evidence} rest={question.evidence_rest} end={end} />}
        {question.evidence === null && <span ref={end} />}
        <Choices question={question} seen={seen} busy={busy} answer={answer} />
      </article>
    );
  },
);

/** The list holds the beginning of long evidence; the rest is fetched before anybody is asked. */
function useWhole(given: OwnerQuestion): OwnerQuestion {
  const [whole, setWhole] = useState<OwnerQuestion | null>(null);
  useEffect(() => {
    if (given.evidence_rest === 0) return;
    const stop = new AbortController();
    call<OwnerQuestion>(`/v1/owner/questions/${encodeURIComponent(given.id)}`, { signal: stop.signal })
      .then(setWhole)
      .catch((error) => stop.signal.aborted || tell(reasonOf(error), true));
    return () => stop.abort();
  }, [given.id, given.evidence_rest]);
  return whole ?? given;
}

function useAnswer({ id, answer: { path } }: OwnerQuestion): {
  busy: boolean;
  answer: (body: unknown) => Promise<void>;
} {
  const [busy, setBusy] = useState(false);
  const answer = async (body: unknown) => {
    setBusy(true);
    try {
      // one key for one question and answer: a second click, or a lost connection, is the same answer
      await send(path, { body, key: `page-${id}-${hash(JSON.stringify(body))}` });
      tell(texts.now.answered);
    } catch (error) {
      tell(error instanceof ApiError && error.status === 404 ? texts.now.elsewhere : reasonOf(error), true);
      setBusy(false);
    }
    now.refresh();
  };
  return { busy, answer };
}

const hash = (text: string): string => {
  let value = 5381;
  for (const char of text) value = (value * 33 + (char.codePointAt(0) ?? 0)) % 2_147_483_647;
  return value.toString(36);
};

const Evidence = ({ text, rest, end }: { text: string; rest: number; end: { current: HTMLSpanElement | null } }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
  <section class="evidence" tabIndex={0} aria-label={texts.now.evidence}>
    {looksLikeDiff(text) ? <Diff text={text} /> : <pre>{text}</pre>}
    {rest > 0 && <p class="hint">{texts.now.restMissing(rest)}</p>}
    <span ref={end} class="end" />
  </section>
);

interface ChoicesProps {
  question: OwnerQuestion;
  seen: boolean;
  busy: boolean;
  answer: (body: unknown) => Promise<void>;
}

function Choices({ question: { id, kind, answer: offered }, seen, busy, answer }: ChoicesProps) {
  const gated = kind !== 'question' && !seen;
  return (
    <div class="choices">
      <div class="buttons">
        {offered.choices.map(({ label, description, body, kind: choice }, at) => (
          <button
            key={label}
            type="button"
            class={`button ${choice === 'yes' && at === 0 && kind !== 'question' ? 'primary' : ''}`}
            disabled={busy || (gated && choice !== 'no')}
            onClick={() => void answer(body)}
          >
            <span class="label">{label}</span>
            {description && <small>{description}</small>}
          </button>
        ))}
      </div>
      {gated && <p class="hint">{texts.now.readFirst}</p>}
      {offered.words && <OwnWords id={id} words={offered.words} busy={busy} answer={answer} />}
    </div>
  );
}

function OwnWords({
  id,
  words,
  busy,
  answer,
}: { id: string; words: { answers: [{ id: string; label: string; value: string }] } } & Omit<
  ChoicesProps,
  'question' | 'seen'
>) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const value = String(new FormData(event.currentTarget as HTMLFormElement).get('words')).trim();
    if (value)
      void answer({ ...words, answers: [{ ...words.answers[0], label: words.answers[0].label || value, value }] });
  };
  return (
    <form class="inline-form" onSubmit={submit}>
      <input
        name="words"
        id={`words-${id}`}
        aria-label={texts.now.answerWords}
        placeholder={texts.now.answerWords}
        autoComplete="off"
        disabled={busy}
      />
      <button type="submit" class="button" disabled={busy}>
        {texts.now.send}
      </button>
    </form>
  );
}
