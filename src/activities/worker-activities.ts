import type { ActivityDeps } from './activity-deps.ts';
import { createReminderActivities } from './routine/reminder.ts';
import { createRoutineActivities } from './routine/routine.ts';
import { createTaskRecords } from './task/task-records.ts';
import { createAct, createActOnStore } from './turn/act.ts';
import { createThink } from './turn/step/think.ts';
import { createRecordActivities } from './turn/turn-records.ts';

/** What a worker does on the queues `agent` and `background`. */
export const createWorkerActivities = (deps: ActivityDeps) => ({
  think: createThink(deps),
  act: createAct(deps),
  actOnStore: createActOnStore(deps),
  ...createRecordActivities(deps),
  ...createRoutineActivities(deps),
  ...createReminderActivities(deps),
  ...createTaskRecords(deps),
});
