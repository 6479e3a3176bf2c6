import { proxyActivities } from '@temporalio/workflow';

/** A workflow that is not ours, on a server that is: it may put any activity on any queue. */
export async function foreign(activity: string, taskQueue: string, input: unknown): Promise<unknown> {
  const activities = proxyActivities<Record<string, (input: unknown) => Promise<unknown>>>({
    taskQueue,
    startToCloseTimeout: 30_000,
    retry: { maximumAttempts: 1 },
  });
  return await activities[activity]!(input);
}
