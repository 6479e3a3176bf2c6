import { Empty } from '../shared/elements/parts.tsx';
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
