import type { OwnerTasks, OwnerWorkspaces } from '../../contracts/owner.ts';
import { Resource } from '../shared/server/resource.ts';
import { Store } from '../shared/store.ts';

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
