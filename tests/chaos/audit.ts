import { Connection } from '@temporalio/client';
import { sql } from 'kysely';
import type { LedgerEntry } from '../../src/adapters/model/practice/completions.ts';
import { ROUTINE } from '../../src/contracts/signals.ts';
import type { Db } from '../../src/store/postgres/database.ts';
import type { TestApp } from '../support/app.ts';
import { clientOf } from '../support/temporal-client.ts';
import { until } from '../support/until.ts';
import type { Expected } from './chats.ts';

export interface Findings {
  /** acknowledged messages that were looked at */
  messages: number;
  lost: string[];
  doubled: string[];
  /** work that never ended: turns, items, calls, rows without their signal */
  stuck: string[];
  /** model steps that were asked for more than once, all of them before any answer was stored */
  askedAgain: number;
}

/** Clocks of the model and of the database are one; the row's time is that of the beginning of its transaction. */
const STORED_SLACK_MS = 250;

/** Waits until nothing is left to send or signal, so that the audit sees the final state. */
export const settled = (db: Db): Promise<unknown> =>
  until(
    'everything is signalled and sent',
    async () => {
      const queued = await db.selectFrom('outbox').select('id').where('state', '=', 'queued').execute();
      const waiting = await db.selectFrom('inbox').select('id').where('signalled_at', 'is', null).execute();
      return queued.length + waiting.length === 0;
    },
    90_000,
  ).catch(() => null);

/** Holds every acknowledged message against the database and the model's own ledger. */
export async function audit(db: Db, expected: readonly Expected[], ledger: readonly LedgerEntry[]): Promise<Findings> {
  const findings: Findings = { messages: expected.length, lost: [], doubled: [], stuck: [], askedAgain: 0 };
  for (const message of expected) await auditMessage(db, message, findings);
  await auditSends(db, findings);
  await auditModel(db, ledger, findings);
  await auditCalls(db, findings);
  await auditLeftovers(db, findings);
  return findings;
}

/** Accepted once, ended, and answered by exactly one item and one outbox row. */
async function auditMessage(db: Db, message: Expected, findings: Findings): Promise<void> {
  // the API stores a client's key behind the operation that it was for
  const known = [message.key, ...['turn', 'message'].map((operation) => `${operation} ${message.key}`)];
  const rows = await db
    .selectFrom('inbox')
    .select('id')
    .where('thread_id', '=', message.threadId)
    .where('channel_message_id', 'in', known)
    .execute();
  if (rows.length === 0) findings.lost.push(`${message.what}: acknowledged, but not in the inbox`);
  const turn = await db
    .selectFrom('turns')
    .select(['status', 'error'])
    .where('id', '=', message.turnId)
    .executeTakeFirst();
  if (!turn) return void findings.lost.push(`${message.what}: its turn is not there`);
  const out = await db
    .selectFrom('outbox')
    .select(['id', 'body'])
    .where('turn_id', '=', message.turnId)
    .where('kind', 'in', ['answer', 'notice'])
    .execute();
  const ends = out.filter((row) => /_(answer|interrupted|failed)$/.test(row.id));
  if (ends.length === 0) findings.lost.push(`${message.what}: nothing was sent at its end (${turn.status})`);
  if (ends.length > 1) findings.doubled.push(`${message.what}: ${ends.length} messages at its end`);
  const calls = await db.selectFrom('calls').select('id').where('turn_id', '=', message.turnId).execute();
  if (calls.length > message.calls)
    findings.doubled.push(`${message.what}: ${calls.length} tool calls instead of ${message.calls}`);
  if (message.answer === null) return;
  if (turn.status !== 'completed') findings.lost.push(`${message.what}: its turn is ${turn.status} (${turn.error})`);
  const items = await db
    .selectFrom('items')
    .select('id')
    .where('turn_id', '=', message.turnId)
    .where('kind', '=', 'agent_message')
    .where('status', '=', 'completed')
    .where('detail', '=', message.answer)
    .execute();
  if (items.length === 0)
    findings.lost.push(`${message.what}: the thread has no answer "${message.answer.slice(0, 60)}"`);
  if (items.length > 1) findings.doubled.push(`${message.what}: the answer stands ${items.length} times in the thread`);
  const bodies = ends.filter((row) => row.body.trim() === message.answer);
  if (bodies.length !== 1)
    findings.lost.push(
      `${message.what}: ${bodies.length} outbox rows carry its answer, they say "${ends.map((row) => row.body.slice(0, 60))}"`,
    );
}

async function auditSends(db: Db, findings: Findings): Promise<void> {
  for (const row of await db.selectFrom('outbox').select(['id', 'state', 'kind']).execute()) {
    // a question that was answered on screen before it was sent is not sent any more
    if (row.state !== 'sent' && !(row.state === 'dropped' && row.kind === 'question'))
      findings.lost.push(`outbox row ${row.id} is ${row.state}`);
  }
  await auditShown(db, findings);
}

/**
 * What a screen was sent is its event log, not the row that was to be sent: everything that ended is told there once.
 * The text of an answer is told once in its turn, under whatever id.
 */
async function auditShown(db: Db, findings: Findings): Promise<void> {
  const ends = await db
    .selectFrom('events')
    .select([
      'event',
      'turn_id',
      'item_id',
      sql<string>`payload->'item'->>'kind'`.as('kind'),
      sql<string>`payload->'item'->>'detail'`.as('detail'),
    ])
    .where('event', 'in', ['item.completed', 'item.failed', 'item.interrupted'])
    .execute();
  const times = new Map<string, number>();
  const count = (what: string) => void times.set(what, (times.get(what) ?? 0) + 1);
  for (const end of ends) {
    count(`the end of item ${end.item_id}`);
    // an interrupted answer that was begun again is shown as interrupted
    if (end.kind === 'agent_message' && end.event === 'item.completed') count(`"${end.detail}" in turn ${end.turn_id}`);
  }
  for (const [what, shown] of times) if (shown > 1) findings.doubled.push(`${what} was shown ${shown} times`);
}

/** A stored model step is never asked for again; one that died before may be. */
async function auditModel(db: Db, ledger: readonly LedgerEntry[], findings: Findings): Promise<void> {
  const stored = new Map(
    (await db.selectFrom('steps').select(['key', 'created_at']).execute()).map((step) => [
      step.key,
      step.created_at.getTime(),
    ]),
  );
  const asked = new Map<string, number>();
  for (const entry of ledger) {
    const key = entry.requestId.split('#')[0] ?? '';
    asked.set(key, (asked.get(key) ?? 0) + 1);
    const at = stored.get(key);
    if (at !== undefined && entry.at > at + STORED_SLACK_MS)
      findings.doubled.push(
        `model step ${entry.requestId} was asked for ${entry.at - at} ms after its answer was stored`,
      );
  }
  findings.askedAgain = [...asked.values()].filter((times) => times > 1).length;
}

/** Every call has ended; a call of a progress report had its effect once. */
async function auditCalls(db: Db, findings: Findings): Promise<void> {
  const open = await db
    .selectFrom('calls')
    .leftJoin('questions', 'questions.call_id', 'calls.id')
    .select(['calls.id', 'calls.name', 'calls.state', 'questions.state as question'])
    .where('calls.state', '!=', 'done')
    .execute();
  for (const call of open.filter((each) => each.question !== 'open'))
    findings.stuck.push(`call ${call.id} of ${call.name} is ${call.state}`);
  const reports = await db
    .selectFrom('calls')
    .select(['id', 'thread_id', 'ok'])
    .where('name', '=', 'report_progress')
    .where('copied_from', 'is', null)
    .execute();
  const effects = await db
    .selectFrom('items')
    .select(['thread_id', 'metadata'])
    .where('kind', '=', 'status')
    .where('metadata', 'is not', null)
    .execute();
  const counts = new Map<string, number>();
  // the items of a copied thread name the calls of its source
  for (const { thread_id, metadata } of effects) {
    const key = `${thread_id} ${metadata?.call_id}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const report of reports) {
    const count = counts.get(`${report.thread_id} ${report.id}`) ?? 0;
    if (count > 1) findings.doubled.push(`progress report ${report.id} was shown ${count} times`);
    if (report.ok && count === 0) findings.lost.push(`progress report ${report.id} says done but was not shown`);
  }
}

async function auditLeftovers(db: Db, findings: Findings): Promise<void> {
  const waiting = new Set(
    (await db.selectFrom('questions').select('turn_id').where('state', '=', 'open').execute()).map(
      (row) => row.turn_id,
    ),
  );
  const turns = await db
    .selectFrom('turns')
    .select(['id', 'status'])
    .where('status', 'in', ['queued', 'in_progress'])
    .execute();
  for (const turn of turns.filter((each) => !waiting.has(each.id)))
    findings.stuck.push(`turn ${turn.id} is ${turn.status}`);
  const items = await db
    .selectFrom('items')
    .select(['id', 'turn_id', 'kind'])
    .where('status', '=', 'in_progress')
    .execute();
  for (const item of items.filter((each) => !waiting.has(each.turn_id)))
    findings.stuck.push(`item ${item.id} (${item.kind}) is in progress`);
  for (const row of await db.selectFrom('inbox').select('id').where('signalled_at', 'is', null).execute())
    findings.stuck.push(`inbox row ${row.id} was never signalled`);
}

/**
 * Every minute that was due while the schedule stood fired once, by Temporal's own list of runs, and its result was
 * told once; gives the minutes.
 */
export async function auditSchedule(
  app: Pick<TestApp, 'home' | 'store' | 'temporalAddress'>,
  threadId: string,
  from: Date,
  to: Date,
  findings: Findings,
  /** all of them fire at each minute */
  crons = 1,
): Promise<number> {
  const fired = await until(
    'every run has ended',
    async () => {
      const all = await firings(app);
      return all.every(({ status }) => status !== 'RUNNING') ? all : null;
    },
    90_000,
  ).catch(() => firings(app));
  const told = await app.store.db
    .selectFrom('events')
    .select('seq')
    .where('thread_id', '=', threadId)
    .where('event', '=', 'item.completed')
    .where(sql<string>`payload->'item'->>'detail'`, '~', '^look(:| did not work)')
    .execute();
  // what is the same again and again is told once an hour, and each other time has its row
  const untold = await app.store.db
    .selectFrom('routine_runs as run')
    .select('run.id')
    .where('run.scheduled_for', 'is not', null)
    .where((e) =>
      e.not(
        e.exists(
          e.selectFrom('outbox').select('outbox.id').where(sql<boolean>`outbox.id = 'out_' || run.id || '_result'`),
        ),
      ),
    )
    .execute();
  for (const { id } of untold) findings.lost.push(`the run ${id} told no result`);
  if (told.length > fired.length)
    findings.doubled.push(`${fired.length} runs of the schedule told ${told.length} results`);
  let due = 0;
  for (let minute = Math.floor(from.getTime() / 60_000 + 1) * 60_000; minute <= to.getTime(); minute += 60_000) {
    due += crons;
    const at = new Date(minute).toISOString();
    const runs = fired.filter((run) => run.scheduledFor === minute);
    const once = new Set(runs.map(({ cron }) => cron)).size;
    if (once < crons) findings.lost.push(`${crons - once} of ${crons} schedules did not fire at ${at}`);
    if (runs.length > once) findings.doubled.push(`${once} schedules fired ${runs.length} times at ${at}`);
    for (const run of runs.filter((each) => each.status !== 'COMPLETED'))
      findings.stuck.push(`the run of ${at} is ${run.status}: ${await whyNot(app.store.db, at)}`);
  }
  return due;
}

/** What the steps of the runs of this minute said that did not succeed. */
async function whyNot(db: Db, at: string): Promise<string> {
  const runs = await db
    .selectFrom('routine_runs')
    .select('results')
    .where('scheduled_for', '=', new Date(at))
    .where('status', '=', 'failed')
    .execute();
  const said = runs.flatMap(({ results }) => results.filter(({ ok }) => !ok).map(({ output }) => output));
  return said.join('; ') || 'no step says why';
}

/** Runs that schedules have started, as the Temporal server lists them: two of one workflow id are two. */
async function firings(
  app: Pick<TestApp, 'home' | 'temporalAddress'>,
): Promise<Array<{ cron: string; scheduledFor: number; status: string }>> {
  const connection = await Connection.connect({ address: app.temporalAddress });
  try {
    const listed: Awaited<ReturnType<typeof firings>> = [];
    const runs = clientOf(app, connection).workflow.list({
      query: `WorkflowType = '${ROUTINE}' AND WorkflowId STARTS_WITH 'cron/'`,
    });
    for await (const { workflowId, status } of runs)
      listed.push({
        cron: workflowId.replace(/\/run-.*$/, ''),
        scheduledFor: Date.parse(workflowId.replace(/^.*\/run-/, '')),
        status: status.name,
      });
    return listed;
  } finally {
    await connection.close();
  }
}
