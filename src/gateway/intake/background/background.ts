import type { RequestKey } from '../../../store/chats/request-keys.ts';
import type { BackgroundTask, TaskRow } from '../../../store/routines/background-tasks.ts';
import type { IntakeDeps } from '../signal.ts';
import { type Automations, createAutomations } from './automations.ts';
import { cancelTask } from './cancel-task.ts';
import { type BackgroundRequest, startBackgroundTask } from './start-task.ts';

/** Work that nobody waits for: tasks, and what starts them on a schedule. */
export interface Background {
  startTask(request: BackgroundRequest): Promise<BackgroundTask>;
  cancelTask(task: TaskRow, key: RequestKey): Promise<void>;
  automations: Automations;
}

export const createBackground = (deps: IntakeDeps & { secret: string }): Background => ({
  startTask: (request) => startBackgroundTask(deps, request),
  cancelTask: (task, key) => cancelTask(deps, task, key),
  automations: createAutomations(deps),
});
