import { setWorkflowOptions } from '@temporalio/workflow';
import { codingTask } from './coding-task/coding-task.ts';
import { routine } from './routine.ts';

/**
 * The workflows of a worker that runs beside workers of other builds. Tasks and routines end, so they stay on the build that began them.
 * Conversations never end: what the worker is created with decides for them. A behaviour must not be in `index.ts`: the server refuses it from a
 * worker without a build (seen on 1.29).
 */
setWorkflowOptions({ versioningBehavior: 'PINNED' }, codingTask);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, routine);

export * from './index.ts';
