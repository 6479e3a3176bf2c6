import { useState } from 'preact/hooks';
import { QuestionCard } from '../now/question-card.tsx';
import { Icon } from '../shared/elements/icons.tsx';
import { Loading, Problem, tell, WorkButton } from '../shared/elements/parts.tsx';
import { money } from '../shared/figures.ts';
import { goTo, linkTo } from '../shared/route.ts';
import { call, reasonOf, send } from '../shared/server/http.ts';
import { now, useResource } from '../shared/server/resource.ts';
import { summaries, type ThreadSummary } from '../shared/summaries.ts';
import { texts } from '../texts.ts';
import { Composer } from './composer.tsx';
import { useThread } from './follow-thread.ts';
import { ThreadLog } from './thread-log.tsx';
import { runningTurn, type ThreadView } from './thread-state.ts';

/** One chat: what was said, what is asked, and where to write. */
export function ThreadPane({ id }: { id: string }) {
  const { view, problem, older } = useThread(id);
  const waiting = (useResource(now).value?.waiting ?? []).filter(({ chat }) => chat.thread_id === id);
  const summary = useResource(summaries).value?.find((each) => each.id === id);
  return (
    <section class="pane thread" aria-label={texts.chats.messages}>
      <ThreadHead id={id} view={view} summary={summary} />
      {problem && <Problem text={problem} />}
      {view ? (
        <ThreadLog view={view} older={older}>
          {waiting.map((question) => (
            <QuestionCard key={question.id} question={question} />
          ))}
        </ThreadLog>
      ) : (
        !problem && <Loading />
      )}
      <Composer
        threadId={id}
        channel={summary?.channel}
        running={view ? (runningTurn(view)?.id ?? null) : null}
        asked={waiting.map((question) => question.id)}
      />
    </section>
  );
}

function ThreadHead({
  id,
  view,
  summary,
}: {
  id: string;
  view: ThreadView | null;
  summary: ThreadSummary | undefined;
}) {
  const [renaming, setRenaming] = useState(false);
  const name = view?.thread.title || summary?.label || texts.chats.fresh;
  return (
    <header class="pane-head">
      <a class="icon-button back" href={linkTo('chats')} aria-label={texts.back}>
        <Icon name="back" />
      </a>
      {renaming ? (
        <Rename id={id} name={view?.thread.title ?? ''} done={() => setRenaming(false)} />
      ) : (
        <div class="pane-title">
          <h2>
            <bdi>{name}</bdi>
          </h2>
          <p class="meta">
            {summary && (
              <span class={`channel ${summary.channel}`}>
                {texts.chats.channels[summary.channel] ?? summary.channel}
              </span>
            )}
            {view && view.thread.model !== 'auto' && <span>{view.thread.model}</span>}
            {summary && summary.cost_usd > 0 && <span>{money(summary.cost_usd)}</span>}
          </p>
        </div>
      )}
      {!renaming && (
        <div class="pane-actions">
          <button
            type="button"
            class="icon-button"
            aria-label={texts.chats.rename}
            title={texts.chats.rename}
            onClick={() => setRenaming(true)}
          >
            <Icon name="edit" />
          </button>
          <WorkButton
            label={texts.chats.archive}
            icon="archive"
            kind="quiet"
            work={async () => {
              await send(`/v1/threads/${encodeURIComponent(id)}`, { method: 'PATCH', body: { archived: true } });
              summaries.refresh();
              goTo('chats');
              return texts.chats.archived;
            }}
          />
        </div>
      )}
    </header>
  );
}

function Rename({ id, name, done }: { id: string; name: string; done: () => void }) {
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const title = String(new FormData(event.currentTarget as HTMLFormElement).get('title')).trim();
    try {
      await call(`/v1/threads/${encodeURIComponent(id)}`, { method: 'PATCH', body: { title } });
      summaries.refresh();
      done();
    } catch (error) {
      tell(reasonOf(error), true);
    }
  };
  return (
    <form class="inline-form" onSubmit={submit}>
      <input
        name="title"
        defaultValue={name}
        maxLength={72}
        aria-label={texts.chats.title}
        placeholder={texts.chats.title}
        ref={(element) => element?.focus()}
      />
      <button type="submit" class="button small primary">
        {texts.save}
      </button>
      <button type="button" class="button small quiet" onClick={done}>
        {texts.cancel}
      </button>
    </form>
  );
}
