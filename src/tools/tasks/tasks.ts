import type { Tool } from '../tool.ts';
import { taskCreate } from './create.ts';
import { taskCancel, taskPause, taskResume } from './orders.ts';
import { taskRespond } from './respond.ts';
import { taskStatus } from './status.ts';

/** The `task_*` tools of the contract: jobs that a coding agent does in a container, for minutes or hours. */
export const taskTools: Tool[] = [taskCreate, taskStatus, taskCancel, taskPause, taskResume, taskRespond];
