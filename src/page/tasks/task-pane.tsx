import { useMemo, useState } from 'preact/hooks';
import type { DiffFile, TaskDetail, TaskDiff } from '../../contracts/owner.ts';
import { QuestionCard } from '../now/question-card.tsx';
import { Icon } from '../shared/elements/icons.tsx';
import { Actions, ChatLink, Empty, Shown, Tag } from '../shared/elements/parts.tsx';
import { linkTo } from '../shared/route.ts';
import { now, Resource, useResource } from '../shared/server/resource.ts';
import { memo } from '../shared/store.ts';
import { Diff } from '../shared/text/diff-view.tsx';
import { texts } from '../texts.ts';
import { stateOfTask } from './shared.tsx';
import { TaskLogView } from './task-log.tsx';
import { TaskOverview } from './task-overview.tsx';

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

/** The open question of the task. */
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

/** So many files are open at first. */
const OPEN = 4;

/** The files that a task has changed, each with its difference. */
function TaskChangesView({ task: { id, ended_at: ended } }: { task: TaskDetail }) {
  const diff = useMemo(
    () =>
      new Resource<TaskDiff>(
        `/v1/owner/tasks/${encodeURIComponent(id)}/diff`,
        ({ about }) => about === 'tasks' && ended === null,
        5_000,
      ),
    [id, ended],
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
    <div class="pane-scroll" tabIndex={0}>
      <Shown of={diff} loaded={useResource(diff)}>
        {({ files, note, cut }) => (
          <>
            {note && <p class="hint">{note}</p>}
            {files.length === 0 && <Empty title={texts.tasks.noChanges} />}
            {files.map((file, at) => (
              <FileDiff key={file.path} file={file} first={at < OPEN} />
            ))}
            {cut && <p class="hint">{texts.tasks.cut}</p>}
          </>
        )}
      </Shown>
    </div>
  );
}

const FileDiff = memo(
  ({ file: { path, from, status, added, removed, diff }, first }: { file: DiffFile; first: boolean }) => {
    const [open, setOpen] = useState(first);
    return (
      <section class="file-diff">
        <h3>
          <button type="button" class="file-line" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name={open ? 'down' : 'right'} size={14} />
            <bdi class="path">{from ? `${from} → ${path}` : path}</bdi>
            <span class="file-status">{status}</span>
            <span class="plus">+{added}</span>
            <span class="minus">−{removed}</span>
          </button>
        </h3>
        {open && (diff === null ? <p class="hint">{texts.tasks.noDiff}</p> : <Diff text={diff} bare />)}
      </section>
    );
  },
);
