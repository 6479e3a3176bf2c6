import type { OwnerFailed, OwnerNow } from '../../contracts/owner.ts';
import { Actions, Ago, ChatLink, Dot, Empty, Head, Shown } from '../shared/elements/parts.tsx';
import { linkTo } from '../shared/route.ts';
import { now } from '../shared/server/data.ts';
import { useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { QuestionCard } from './question-card.tsx';
import { RunningRow } from './running-row.tsx';

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
      <Actions actions={actions} />
    </div>
  </li>
);

export const NowPart = () => (
  <div class="page-column">
    <h1>{texts.parts.now}</h1>
    <Shown of={now} loaded={useResource(now)}>
      {(value) => <Everything {...value} />}
    </Shown>
  </div>
);

const Everything = ({ waiting, running, failed, waiting_count: count }: OwnerNow) => (
  <>
    <section aria-label={texts.now.waiting}>
      <Head title={texts.now.waiting} count={count} />
      {waiting.length === 0 && (
        <Empty title={texts.now.calm} icon="check">
          {texts.now.calmMore}
        </Empty>
      )}
      <div class="cards">
        {waiting.map((question) => (
          <QuestionCard key={question.id} question={question} />
        ))}
      </div>
      {count > waiting.length && <p class="hint">{texts.now.beyond(count - waiting.length)}</p>}
    </section>
    <section aria-label={texts.now.running}>
      <Head title={texts.now.running} count={running.length} />
      {running.length === 0 ? (
        <p class="hint">{texts.now.idle}</p>
      ) : (
        <ul class="rows">
          {running.map((each) => (
            <RunningRow key={each.id} running={each} />
          ))}
        </ul>
      )}
    </section>
    {failed.length > 0 && (
      <section aria-label={texts.now.failed}>
        <Head title={texts.now.failed} count={failed.length} />
        <ul class="rows">
          {failed.map((each) => (
            <FailedRow key={each.id} failed={each} />
          ))}
        </ul>
      </section>
    )}
  </>
);
