import type { Client } from '@temporalio/client';

/** Events and size of a workflow's current run, as the server counts them. */
export async function historyCost(temporal: Client, workflowId: string): Promise<{ events: number; bytes: number }> {
  const { namespace } = temporal.options;
  const execution = { workflowId };
  // the client's own description decodes the name of the chat, which is encrypted
  const { workflowExecutionInfo: info } = await temporal.workflowService.describeWorkflowExecution({
    namespace,
    execution,
  });
  return { events: Number(info?.historyLength ?? 0), bytes: Number(info?.historySizeBytes ?? 0) };
}

/** A stretch of a history: what was waited for, and how many milliseconds. */
export interface Stretch {
  name: string;
  ms: number;
}

/** Splits a history after event `from` into stretches: workflow tasks and activities, each waiting and running. */
export async function stretches(temporal: Client, workflowId: string, from: number): Promise<Stretch[]> {
  const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  const byId = new Map((events ?? []).map((event) => [Number(event.eventId), event]));
  const at = (id: unknown): number => {
    const time = byId.get(Number(id))?.eventTime;
    return Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
  };
  const found: Stretch[] = [];
  for (const event of events ?? []) {
    if (Number(event.eventId) <= from) continue;
    const task = event.workflowTaskCompletedEventAttributes;
    const activity = event.activityTaskCompletedEventAttributes;
    const done = task ?? activity;
    if (!done) continue;
    const scheduled = byId.get(Number(done.scheduledEventId))?.activityTaskScheduledEventAttributes;
    const name = activity ? (scheduled?.activityType?.name ?? 'activity') : 'workflow task';
    found.push({ name: `${name}: waits`, ms: at(done.startedEventId) - at(done.scheduledEventId) });
    found.push({ name: `${name}: runs`, ms: at(event.eventId) - at(done.startedEventId) });
  }
  return found;
}
