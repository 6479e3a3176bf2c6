import { useMemo } from 'preact/hooks';
import type { TaskDetail } from '../../contracts/owner.ts';
import { QuestionCard } from '../now/question-card.tsx';
import { Icon } from '../shared/elements/icons.tsx';
import { Actions, ChatLink, Shown, Tag } from '../shared/elements/parts.tsx';
import { linkTo } from '../shared/route.ts';
import { now } from '../shared/server/data.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { TaskChangesView } from './task-changes.tsx';
import { TaskLogView } from './task-log.tsx';
import { TaskOverview } from './task-overview.tsx';
import { stateOfTask } from './task-state.ts';

type Section = 'overview' | 'log' | 'changes';
const SECTIONS: Section[] = ['overview', 'log', 'changes'];

/** One task: what it is, what it does, and what it has changed. */
export function TaskPane({ id, section }: { id: string; section: string | undefined }) {
  const task = useTask(id);
  const current = SECTIONS.find((each) => each === section) ?? 'overview';
  return (
    <section class="pane" aria-label={texts.tasks.one}>
      <Shown of={task} loaded={useResource(task)}>
        {(value) => (
          <>
            <TaskHead task={value} changed={() => task.refresh()} />
            <nav class="tabs pane-tabs" aria-label={value.goal.slice(0, 60)}>
              {SECTIONS.map((each) => (
                <a
                  key={each}
                  class="tab"
                  href={linkTo('tasks', id, each)}
                  aria-current={each === current ? 'page' : undefined}
                >
                  {texts.tasks.sections[each]}
                </a>
              ))}
            </nav>
            {current === 'overview' && (
              <TaskOverview task={value}>
                <Asked id={id} />
              </TaskOverview>
            )}
            {current === 'log' && <TaskLogView id={id} lines={value.log_lines} />}
            {current === 'changes' && <TaskChangesView task={value} />}
          </>
        )}
      </Shown>
    </section>
  );
}

function useTask(id: string): Resource<TaskDetail> {
  const task = useMemo(
    () => new Resource<TaskDetail>(`/v1/owner/tasks/${encodeURIComponent(id)}`, ({ about }) => about === 'tasks', 700),
    [id],
  );
  return task;
}

/** What the task asks now. */
const Asked = ({ id }: { id: string }) => (
  <div class="cards">
    {(useResource(now).value?.waiting ?? [])
      .filter(({ task }) => task?.id === id)
      .map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
  </div>
);

function TaskHead({ task, changed }: { task: TaskDetail; changed: () => void }) {
  const { words, tone } = stateOfTask(task);
  return (
    <header class="pane-head task-head">
      <a class="icon-button back" href={linkTo('tasks')} aria-label={texts.back}>
        <Icon name="back" />
      </a>
      <div class="pane-title">
        <h2 class="goal">{task.goal}</h2>
        <p class="meta">
          <Tag tone={tone}>{words}</Tag>
          <ChatLink chat={task.chat} />
        </p>
      </div>
      <div class="pane-actions">
        <Actions actions={task.actions} after={changed} />
      </div>
    </header>
  );
}
