import type { TaskSummary } from '../../contracts/owner.ts';
import { Ago, Dot, Empty, ListTitle, Shown } from '../shared/elements/parts.tsx';
import { money } from '../shared/figures.ts';
import { linkTo } from '../shared/route.ts';
import { useResource } from '../shared/server/resource.ts';
import { memo, useStore } from '../shared/store.ts';
import { texts } from '../texts.ts';
import { type Filter, filter, MOST, more, stateOfTask, TaskTabs, tasks } from './shared.tsx';
import { TaskPane } from './task-pane.tsx';
import { Workspaces } from './workspaces.tsx';

/** Coding tasks with the one that was chosen, or the workspaces that they work on. */
export function TasksPart({ rest: [first, section] }: { rest: string[] }) {
  if (first === 'workspaces') return <Workspaces />;
  return (
    <div class={`split ${first ? 'chosen' : ''}`}>
      <h1 class="sr">{texts.parts.tasks}</h1>
      <TaskList chosen={first} />
      {first ? (
        <TaskPane key={first} id={first} section={section} />
      ) : (
        <div class="pane placeholder">
          <Empty title={texts.tasks.choose} icon="tasks">
            {texts.tasks.noneMore}
          </Empty>
        </div>
      )}
    </div>
  );
}

function TaskList({ chosen }: { chosen: string | undefined }) {
  const current = useStore(filter);
  return (
    <section class="list-pane" aria-label={texts.tasks.list}>
      <header class="list-head">
        <ListTitle text={texts.parts.tasks} />
        <TaskTabs current="tasks" />
      </header>
      <div class="tabs filters">
        {(Object.keys(texts.tasks.filters) as Filter[]).map((each) => (
          <button key={each} type="button" class="tab" aria-pressed={each === current} onClick={() => filter.set(each)}>
            {texts.tasks.filters[each]}
          </button>
        ))}
      </div>
      <Shown of={tasks} loaded={useResource(tasks)}>
        {({ tasks: shown, next }) => (
          <ul class="list">
            {shown.length === 0 && (
              <li>
                <Empty title={texts.tasks.none}>{texts.tasks.noneMore}</Empty>
              </li>
            )}
            {shown.map((task) => (
              <TaskRow key={task.id} version={JSON.stringify(task)} chosen={task.id === chosen} />
            ))}
            {next !== null && shown.length < MOST && (
              <li>
                <button type="button" class="button small quiet" onClick={more}>
                  {texts.tasks.more}
                </button>
              </li>
            )}
          </ul>
        )}
      </Shown>
    </section>
  );
}

/** `version`: the summary as text, so that a row is drawn again only when it changed. */
const TaskRow = memo(({ version, chosen }: { version: string; chosen: boolean }) => {
  const task = JSON.parse(version) as TaskSummary;
  const { words, tone } = stateOfTask(task);
  return (
    <li>
      <a class="list-row" href={linkTo('tasks', task.id)} aria-current={chosen ? 'true' : undefined}>
        <span class="list-line">
          <Dot tone={tone} />
          <span class="list-name">{task.goal}</span>
          <span class="list-time">
            <Ago at={task.ended_at ?? task.created_at} />
          </span>
        </span>
        <span class="list-preview">{task.last ?? task.reason ?? task.agent}</span>
        <span class="list-meta">
          <span class={`state ${tone}`}>{words}</span>
          <bdi>{task.workspace}</bdi>
          {task.cost_usd > 0 && <span>{money(task.cost_usd)}</span>}
        </span>
      </a>
    </li>
  );
});
