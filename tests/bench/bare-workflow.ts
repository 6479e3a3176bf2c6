import { proxyActivities } from '@temporalio/workflow';

interface Bare {
  nothing(input: { id: string }): Promise<{ id: string }>;
  ask(input: { id: string; bytes: number }): Promise<{ id: string }>;
}
const { nothing, ask } = proxyActivities<Bare>({ startToCloseTimeout: 60_000, heartbeatTimeout: 4_000 });

export interface BareInput {
  id: string;
  activities: number;
  /** so many of them, every second one, ask the model with a request of this size instead of doing nothing */
  requests?: { count: number; bytes: number };
}

/** What Temporal itself costs: so many activities, one after the other, that do nothing. */
export async function bare({ id, activities, requests }: BareInput): Promise<void> {
  for (let at = 0; at < activities; at++) {
    if (requests && at % 2 === 0 && at / 2 < requests.count) await ask({ id: `${id}/${at}`, bytes: requests.bytes });
    else await nothing({ id: `${id}/${at}` });
  }
}
