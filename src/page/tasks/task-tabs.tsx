import { linkTo } from '../shared/route.ts';
import { texts } from '../texts.ts';

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
