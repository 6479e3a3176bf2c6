import type { Endpoint } from '../http/endpoint.ts';
import type { RuntimeDeps } from '../runtime/endpoint.ts';
import { getOwnerEvents } from './now/events.ts';
import { getNow, getQuestion } from './now/now.ts';
import { taskOrders } from './work/task-orders.ts';
import { getTask, getTaskDiff, getTaskLog, getTasks } from './work/tasks.ts';

/** What the owner's page asks beside the runtime API. */
export const ownerEndpoints: ReadonlyArray<Endpoint<RuntimeDeps>> = [
  getNow,
  getQuestion,
  getOwnerEvents,
  getTasks,
  getTask,
  getTaskLog,
  getTaskDiff,
  ...taskOrders,
];
