import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import type { LogLine } from '../../src/contracts/kennel.ts';
import { CODING_TASK } from '../../src/contracts/signals.ts';
import type { Task } from '../../src/store/kennel/tasks/tasks.ts';
import type { TestApp } from '../support/app.ts';
import { linesOf } from '../support/kennel-app.ts';
import { clientOf } from '../support/temporal-client.ts';
import { until } from '../support/until.ts';
import type { Findings } from './audit.ts';
import { engineOf } from './tasks-killer.ts';
import { findTask, type Made } from './tasks-people.ts';

export interface TaskCounts {
  ended: { completed: number; failed: number; cancelled: number };
  /** containers that tasks went through, one a step */
  steps: number;
  /** lines of their logs that are stored */
  lines: number;
  questions: { asked: number; answered: number; cancelled: number; parked: number };
  /** ms from the making to the end of a task: median and longest */
  took: { median: number; longest: number };
}

/** An instance whose tasks are looked at; `hosts` where several kennel hosts share its home. */
export type TaskWorld = Pick<TestApp, 'home' | 'store' | 'temporalAddress'> & { hosts?: readonly string[] };

const runOf = (app: TaskWorld, taskId: string): string => join(app.home, 'kennel', 'runs', taskId);

const socketsOf = (app: TaskWorld, taskId: string): string[] => {
  const folder = join(runOf(app, taskId), 'gate');
  return existsSync(folder) ? readdirSync(folder) : [];
};

/**
 * The host tidies up every few seconds: what it needs some rounds for is waited for, what it never does is found by the
 * audit.
 */
export const swept = (app: TaskWorld, made: readonly Made[]): Promise<unknown> =>
  until(
    'the host has tidied up',
    async () =>
      (await engineOf(app).left()).length === 0 && made.every(({ taskId }) => socketsOf(app, taskId).length === 0),
    30_000,
  ).catch(() => null);

/** Holds every task against the database, its log, the engine and the Temporal server. */
export async function auditTasks(app: TaskWorld, made: readonly Made[], findings: Findings): Promise<TaskCounts> {
  const counts: TaskCounts = {
    ended: { completed: 0, failed: 0, cancelled: 0 },
    steps: 0,
    lines: 0,
    questions: { asked: 0, answered: 0, cancelled: 0, parked: 0 },
    took: { median: 0, longest: 0 },
  };
  const times: number[] = [];
  const connection = await Connection.connect({ address: app.temporalAddress });
  try {
    const client = clientOf(app, connection);
    for (const one of made) {
      const what = `${one.plan.name} (${one.taskId})`;
      const task = await findTask(app, one.taskId);
      if (!task?.ended_at) {
        findings.stuck.push(`${what} is ${task?.state}`);
        continue;
      }
      counts.ended[task.state as keyof TaskCounts['ended']] += 1;
      times.push(task.ended_at.getTime() - task.created_at.getTime());
      auditEnd(what, one, task, findings);
      await auditReport(app, what, task, findings);
      await auditLog(app, what, task, findings, counts);
      await auditQuestions(app, what, one, task, findings, counts);
      for (const socket of socketsOf(app, task.id)) findings.stuck.push(`${what}: its ${socket} is left`);
      const { status } = await client.workflow.getHandle(task.workflow_id).describe();
      if (status.name !== 'COMPLETED') findings.stuck.push(`${what}: its workflow is ${status.name}`);
    }
    const open = client.workflow.list({ query: `ExecutionStatus = "Running" AND WorkflowType = "${CODING_TASK}"` });
    for await (const { workflowId } of open) findings.stuck.push(`workflow ${workflowId} is running`);
  } finally {
    await connection.close();
  }
  const rows = await app.store.db.selectFrom('tasks').select('id').execute();
  if (rows.length !== made.length) findings.doubled.push(`${rows.length} tasks were made instead of ${made.length}`);
  for (const { name, status } of await engineOf(app).left())
    findings.stuck.push(`container ${name} is left (${status})`);
  const sorted = times.sort((a, b) => a - b);
  counts.took = { median: sorted[Math.floor(sorted.length / 2)] ?? 0, longest: sorted.at(-1) ?? 0 };
  return counts;
}

/** A word that was acknowledged as an order is carried out, or came at the last moment. */
const AT_LAST_MS = 60_000;

function auditEnd(what: string, { plan, stoppedAt }: Made, task: Task, findings: Findings): void {
  if (!task.result) findings.lost.push(`${what} has no result`);
  if (plan.end !== task.state && !(plan.end === 'cancelled' && task.state === 'completed'))
    findings.lost.push(`${what} is ${task.state}: ${task.reason}`);
  if (plan.end === 'failed' && !task.reason?.includes(`${plan.name} was told to`))
    findings.lost.push(`${what} failed for another reason: ${task.reason}`);
  if (stoppedAt !== null && task.state === 'completed' && task.ended_at!.getTime() - stoppedAt > AT_LAST_MS)
    findings.lost.push(`${what} was done ${task.ended_at!.getTime() - stoppedAt} ms after it was told to stop`);
}

/** One report, sent once, and shown once. */
async function auditReport(app: TaskWorld, what: string, task: Task, findings: Findings): Promise<void> {
  const rows = await app.store.db
    .selectFrom('outbox')
    .select(['id', 'body', 'state'])
    .where('chat_id', '=', task.chat_id)
    .where('kind', '=', 'result')
    .execute();
  if (rows.length === 0) findings.lost.push(`${what} has no report`);
  if (rows.length > 1) findings.doubled.push(`${what} has ${rows.length} reports`);
  const shown = await app.store.db
    .selectFrom('items')
    .select('id')
    .where('thread_id', '=', task.thread_id)
    .where('kind', '=', 'agent_message')
    .where('detail', '=', rows[0]?.body ?? '')
    .execute();
  if (shown.length !== 1)
    (shown.length ? findings.doubled : findings.lost).push(`${what}: its report is shown ${shown.length} times`);
}

/**
 * Every line of the container is stored once, in order. The last lines of a cancelled task may be missing, because
 * nobody followed it then.
 */
async function auditLog(
  app: TaskWorld,
  what: string,
  task: Task,
  findings: Findings,
  counts: TaskCounts,
): Promise<void> {
  const stored = await linesOf(app, task.id);
  counts.lines += stored.length;
  stored.forEach((line, at) => {
    if (line.seq !== at + 1) findings.lost.push(`${what}: line ${at + 1} of its log has number ${line.seq}`);
  });
  const path = join(runOf(app, task.id), 'log.ndjson');
  const written = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  if (task.state !== 'cancelled' && written.length !== stored.length)
    findings.lost.push(`${what}: ${stored.length} of ${written.length} lines of its log are stored`);
  for (const [at, line] of stored.entries())
    if (written[at] !== undefined && !same(line, JSON.parse(written[at])))
      findings.lost.push(`${what}: line ${at + 1} is not the written one`);
  const steps = new Set(stored.map((line) => line.step));
  counts.steps += steps.size;
  for (const step of steps) {
    const started = stored.filter((line) => line.step === step && line.type === 'started');
    if (started.length > 1) findings.doubled.push(`${what}: step ${step} was started ${started.length} times`);
  }
  counts.questions.parked += stored.filter((line) => line.type === 'ended' && line.outcome === 'parked').length;
}

const same = (stored: LogLine, written: LogLine): boolean =>
  stored.seq === written.seq && stored.type === written.type && stored.at === written.at;

/** Each question was asked once, and has the person's answer, or was cancelled with its task. */
async function auditQuestions(
  app: TaskWorld,
  what: string,
  { plan }: Made,
  task: Task,
  findings: Findings,
  counts: TaskCounts,
): Promise<void> {
  const rows = await app.store.db
    .selectFrom('questions')
    .selectAll()
    .where('task_id', '=', task.id)
    .orderBy('asked_at')
    .execute();
  counts.questions.asked += rows.length;
  for (const row of rows) {
    const ask = plan.asks.find(({ question }) => question === row.prompt);
    if (!ask) findings.doubled.push(`${what} asked "${row.prompt}"`);
    if (row.state === 'answered') counts.questions.answered += 1;
    if (row.state === 'cancelled') counts.questions.cancelled += 1;
    if (
      row.state === 'answered' ? row.answer !== ask?.heard : !(row.state === 'cancelled' && task.state === 'cancelled')
    )
      findings.lost.push(`${what}: question ${row.id} is ${row.state}, its answer "${row.answer}"`);
  }
  for (const { question } of plan.asks) {
    const times = rows.filter((row) => row.prompt === question).length;
    if (times > 1) findings.doubled.push(`${what} asked "${question}" ${times} times`);
    if (times === 0 && task.state === 'completed') findings.lost.push(`${what} never asked "${question}"`);
  }
}
