import type { Endpoint } from '../http/endpoint.ts';
import type { RuntimeDeps } from '../runtime/endpoint.ts';
import { getOwnerEvents } from './now/events.ts';
import { getNow, getQuestion } from './now/now.ts';
import { postPreview } from './work/preview.ts';
import { deleteScheduleOrReminder, getSchedules, pauseSchedule, postSchedule, resumeSchedule, runSchedule } from './work/schedules.ts';
import { getSpend } from './work/spend.ts';
import { taskOrders } from './work/task-orders.ts';
import { getTask, getTaskDiff, getTaskLog, getTasks } from './work/tasks.ts';

/** What the owner's page asks beside the runtime API. */
export const ownerEndpoints: ReadonlyArray<Endpoint<RuntimeDeps>> = [
  ...[getNow, getQuestion, getOwnerEvents],
  ...[getTasks, getTask, getTaskLog, getTaskDiff, ...taskOrders],
  // before the paths with an id
  ...[postPreview, getSchedules, postSchedule, runSchedule, pauseSchedule, resumeSchedule, deleteScheduleOrReminder],
  ...[getSpend],
];
