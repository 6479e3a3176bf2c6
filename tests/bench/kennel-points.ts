import { execFileSync } from 'node:child_process';
import type { Client } from '@temporalio/client';
import { childEnvironment } from '../../src/config.ts';
import { taskWorkflowId } from '../../src/contracts/ids.ts';
import type { LogLine } from '../../src/contracts/kennel.ts';
import type { TestApp } from '../support/app.ts';
import { linesOf } from '../support/kennel-app.ts';

/** What the agent itself does or says: the lines before are the runner's. */
export const isAgentLine = (line: LogLine): boolean =>
  line.type === 'session' || line.type === 'tool' || line.type === 'text';

/** Moments of a task by name, in epoch ms; one that did not happen is missing. */
export type Points = Partial<Record<string, number>>;

/**
 * Moments of a task that is over: of its workflow (`prepareTask started`), of its log (`log ended`), and of its
 * containers as the engine tells them (`checkpoint create`, `run start`).
 */
export async function pointsOf(app: TestApp, temporal: Client, taskId: string): Promise<Points> {
  const task = await app.store.db.selectFrom('tasks').selectAll().where('id', '=', taskId).executeTakeFirstOrThrow();
  const call = await app.store.db
    .selectFrom('calls')
    .select('ended_at')
    .where('id', '=', task.call_id)
    .executeTakeFirstOrThrow();
  const report = await app.store.db
    .selectFrom('outbox')
    .select('sent_at')
    .where('id', '=', task.outbox_id!)
    .executeTakeFirstOrThrow();
  const lines = await linesOf(app, taskId);
  const at = (line: LogLine | undefined): number | undefined => line && Date.parse(line.at);
  return {
    ...(await historyPoints(temporal, taskId)),
    ...containerPoints(taskId, call.ended_at!.getTime()),
    called: call.ended_at!.getTime(),
    'log started': at(lines.find((line) => line.type === 'started')),
    'log agent': at(lines.find(isAgentLine)),
    'log ended': at(lines.find((line) => line.type === 'ended')),
    sent: report.sent_at?.getTime(),
  };
}

async function historyPoints(temporal: Client, taskId: string): Promise<Points> {
  const { events } = await temporal.workflow.getHandle(taskWorkflowId(taskId)).fetchHistory();
  const points: Points = {};
  const names = new Map<number, string>();
  for (const event of events ?? []) {
    const at = Number(event.eventTime?.seconds ?? 0) * 1000 + (event.eventTime?.nanos ?? 0) / 1e6;
    const scheduled = event.activityTaskScheduledEventAttributes;
    const started = event.activityTaskStartedEventAttributes;
    const completed = event.activityTaskCompletedEventAttributes;
    if (event.workflowExecutionStartedEventAttributes) points['workflow started'] = at;
    if (scheduled) names.set(Number(event.eventId), scheduled.activityType?.name ?? 'activity');
    const name = names.get(Number(scheduled ? event.eventId : (started ?? completed)?.scheduledEventId));
    if (name) points[`${name} ${scheduled ? 'scheduled' : started ? 'started' : 'completed'}`] ??= at;
  }
  return points;
}

interface EngineEvent {
  Action: string;
  timeNano: number;
  Actor: { Attributes: Record<string, string> };
}

/** The engine keeps its last 256 events: asked soon after the task, these are among them. */
function containerPoints(taskId: string, since: number): Points {
  const range = ['--since', (since / 1000).toFixed(3), '--until', (Date.now() / 1000).toFixed(3)];
  const text = execFileSync('docker', ['events', ...range, '--filter', 'type=container', '--format', '{{json .}}'], {
    encoding: 'utf8',
    env: childEnvironment({}),
    maxBuffer: 64 * 2 ** 20,
  });
  const points: Points = {};
  for (const line of text.split('\n').filter(Boolean)) {
    const { Action, timeNano, Actor } = JSON.parse(line) as EngineEvent;
    const step = Actor.Attributes['fetch.step'] ?? '';
    const what =
      Actor.Attributes['fetch.task'] === taskId
        ? 'run'
        : step.startsWith(`${taskId} `)
          ? step.slice(taskId.length + 1)
          : null;
    if (what) points[`${what} ${Action}`] ??= timeNano / 1e6;
  }
  return points;
}
