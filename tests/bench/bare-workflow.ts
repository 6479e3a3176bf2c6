import { proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(input: { id: string }): Promise<{ id: string }> }>({ startToCloseTimeout: 60_000, heartbeatTimeout: 4_000 });

/** What Temporal itself costs: so many activities, one after the other, that do nothing. */
export async function bare(input: { id: string; activities: number }): Promise<void> {
  for (let at = 0; at < input.activities; at++) await nothing({ id: `${input.id}/${at}` });
}
