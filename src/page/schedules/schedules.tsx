import type { OwnerSchedule } from '../../contracts/owner.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Actions, Ago, ChatLink, Empty, Shown, Tag } from '../shared/elements/parts.tsx';
import { moment } from '../shared/figures.ts';
import { useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { schedules } from './data.ts';
import { NewSchedule } from './new-schedule.tsx';

/** What fires by itself, and a place to make one more. */
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
  const { name, kind, what, chat, enabled, expression, time_zone: zone, next, runs, actions } = schedule;
  return (
    <article class="card" aria-label={name}>
      <div class="card-head">
        <div class="row-main">
          <h2>{name}</h2>
          <p class="meta">
            <Tag tone={enabled ? 'good' : 'plain'}>
              {enabled ? texts.schedules.kinds[kind] : texts.schedules.paused}
            </Tag>
            {expression && <code>{expression}</code>}
            <span>{zone}</span>
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
