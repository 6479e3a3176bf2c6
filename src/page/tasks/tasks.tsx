import { Empty } from '../shared/elements/parts.tsx';
import { linkTo } from '../shared/route.ts';
import { texts } from '../texts.ts';
import { TaskList } from './task-list.tsx';
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

export const TaskTabs = ({ current }: { current: 'tasks' | 'workspaces' }) => (
  <nav class="tabs" aria-label={texts.parts.tasks}>
    <a class="tab" href={linkTo('tasks')} aria-current={current === 'tasks' ? 'page' : undefined}>
      {texts.tasks.tabs.tasks}
    </a>
    <a class="tab" href={linkTo('tasks', 'workspaces')} aria-current={current === 'workspaces' ? 'page' : undefined}>
      {texts.tasks.tabs.workspaces}
    </a>
  </nav>
);
