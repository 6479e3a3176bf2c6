import type { OwnerTasks, OwnerWorkspaces, TaskSummary } from '../../contracts/owner.ts';
import { linkTo } from '../shared/route.ts';
import { Resource } from '../shared/server/resource.ts';
import { Store } from '../shared/store.ts';
import { texts } from '../texts.ts';

export type Filter = 'all' | 'live' | 'over';
const PAGE = 50;

export const filter = new Store<Filter>('all');
/** how many tasks the list asks for; "older tasks" raises it */
const wanted = new Store(PAGE);

const address = (): string =>
  `/v1/owner/tasks?limit=${wanted.value}${filter.value === 'all' ? '' : `&state=${filter.value}`}`;
export const tasks = new Resource<OwnerTasks>(address, (event) => event.about === 'tasks', 600);
export const workspaces = new Resource<OwnerWorkspaces>(
  '/v1/owner/workspaces',
  (event) => ['tasks', 'workspaces'].includes(event.about),
  2_000,
);

filter.watch(() => {
  wanted.set(PAGE);
  tasks.reset();
});

/** The server gives at most 200 at once. */
export const MOST = 200;
export function more(): void {
  wanted.set(Math.min(MOST, wanted.value + PAGE));
  tasks.refresh();
}

/** The state of a task in words, with its colour. */
export function stateOfTask({
  state,
  planning,
  limited_until: limit,
}: Pick<TaskSummary, 'state' | 'planning' | 'limited_until'>): {
  words: string;
  tone: 'plain' | 'good' | 'wait' | 'bad' | 'busy';
} {
  if (limit !== null && state === 'running') return { words: texts.tasks.states.limited!, tone: 'wait' };
  const words = texts.tasks.states[state] ?? state.replaceAll('_', ' ');
  if (state === 'running') return { words: planning ? texts.tasks.planning : words, tone: 'busy' };
  if (state === 'completed') return { words, tone: 'good' };
  if (state === 'failed') return { words, tone: 'bad' };
  return { words, tone: /wait/.test(state) ? 'wait' : 'plain' };
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
