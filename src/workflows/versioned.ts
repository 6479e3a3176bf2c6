import { setWorkflowOptions } from '@temporalio/workflow';
import { baseline } from './baseline.ts';
import { codingTask } from './coding-task/coding-task.ts';
import { reminder } from './reminder.ts';
import { routine } from './routine/routine.ts';
import { shipment } from './shipment/shipment.ts';

/**
 * Versioning of workflows where workers of several builds run. Tasks and routines end, so they stay on the build that
 * started them. Conversations never end; the worker's own option decides for them. This cannot be in `index.ts`: the
 * server refuses a behaviour from a worker without a build (seen on 1.29).
 */
setWorkflowOptions({ versioningBehavior: 'PINNED' }, codingTask);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, routine);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, shipment);
setWorkflowOptions({ versioningBehavior: 'PINNED' }, baseline);
// its first workflow task comes when it is due, and it is over some seconds later
setWorkflowOptions({ versioningBehavior: 'PINNED' }, reminder);

export * from './index.ts';
