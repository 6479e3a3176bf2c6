import type { Client } from '@temporalio/client';
import { AGENT_QUEUE, BACKGROUND_QUEUE } from '../../../contracts/ids.ts';

/** temporal.api.enums.v1.TaskQueueType */
const KINDS = { workflow: 1, activity: 2 } as const;
const WITH_WORKFLOWS: readonly string[] = [AGENT_QUEUE, BACKGROUND_QUEUE];

export interface QueueStats {
  queue: string;
  kind: keyof typeof KINDS;
  /** tasks that wait, as the server estimates */
  backlog: number;
  /** how long the oldest has waited */
  ageSeconds: number;
  /** workers that ask it for work */
  pollers: number;
}

/** How long task queues are. Only the worker's own have workflow tasks. Queues are asked side by side. */
export async function queueStats(
  temporal: Client,
  namespace: string,
  queues: readonly string[],
): Promise<QueueStats[]> {
  const kindsOf = (queue: string): Array<keyof typeof KINDS> =>
    WITH_WORKFLOWS.includes(queue) ? ['workflow', 'activity'] : ['activity'];
  return await Promise.all(
    queues.flatMap((queue) =>
      kindsOf(queue).map(async (kind): Promise<QueueStats> => {
        const { stats, pollers } = await temporal.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: queue },
          taskQueueType: KINDS[kind],
          reportStats: true,
        });
        return {
          queue,
          kind,
          backlog: Number(stats?.approximateBacklogCount ?? 0),
          ageSeconds: Number(stats?.approximateBacklogAge?.seconds ?? 0),
          pollers: pollers?.length ?? 0,
        };
      }),
    ),
  );
}
