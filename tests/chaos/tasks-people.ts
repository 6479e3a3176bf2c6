import { setTimeout as sleep } from 'node:timers/promises';
import type { Task } from '../../src/store/kennel/tasks/tasks.ts';
import { script, type TestApp } from '../support/app.ts';
import type { Expected } from './chats.ts';
import type { Client } from './client.ts';
import type { Plan } from './tasks-plan.ts';

/** Far above any recovery and any wait for a workspace, so that only a lost task reaches it. */
const PATIENCE_MS = 25 * 60_000;
const LOOK_MS = 200;

/** A task that was made, and what its person saw of it. */
export interface Made {
  plan: Plan;
  threadId: string;
  taskId: string;
  /** epoch ms when "stop" was acknowledged as an order to the task; null: it was not said, or came when it was over */
  stoppedAt: number | null;
}

export interface People {
  app: Pick<TestApp, 'store'>;
  client: Client;
  record(expected: Expected): void;
  problem(text: string): void;
  /** made, not over yet */
  live: Map<string, Made>;
  /** requests for a task that were refused, because the host had no containers at the moment */
  refused(): void;
  /** a task's thread was made; where there are several hosts, its workspace is chosen at one of them */
  settled?(threadId: string, plan: Plan): Promise<void>;
}

/** One task of one person, from its making to its end: answers, stops, pauses as it is planned. */
export async function livesThrough(people: People, plan: Plan): Promise<Made> {
  const made = await make(people, plan);
  people.live.set(made.taskId, made);
  const over = new AbortController();
  const said = [answers(people, made, over.signal), stops(people, made, over.signal), holds(people, made, over.signal)];
  try {
    await watch(`${plan.name} is over`, async () =>
      (await findTask(people.app, made.taskId))?.ended_at ? true : null,
    );
  } finally {
    over.abort();
    people.live.delete(made.taskId);
  }
  await Promise.all(said);
  return made;
}

/** Polls the store until the condition gives something; a database that is away at the moment is asked again. */
async function watch<T>(
  what: string,
  condition: () => Promise<T | null | undefined>,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let reason = ''; ; ) {
    const value = await condition().catch((error: Error) => {
      reason = error.message;
      return null;
    });
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${PATIENCE_MS / 1000} s in vain: ${what} ${reason}`);
    await sleep(LOOK_MS, undefined, { signal });
  }
}

export const findTask = (app: Pick<TestApp, 'store'>, id: string): Promise<Task | undefined> =>
  app.store.db.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();

async function make({ app, client, record, refused, settled }: People, plan: Plan): Promise<Made> {
  const { id: threadId } = await client.post<{ id: string }>('/v1/threads', {}, `${plan.name}-thread`);
  await settled?.(threadId, plan);
  const call = { goal: plan.goal, agent: 'practice', workspace: plan.workspace, timeout: 900_000 };
  const prompt = script([{ call: [['task_create', call]] }, { say: '$LAST' }]);
  for (let attempt = 1; ; attempt += 1) {
    const key = `${plan.name}-${attempt}`;
    const { turn } = await client.post<{ turn: { id: string } }>(`/v1/threads/${threadId}/turns`, { prompt }, key);
    record({ what: `${key} makes a task`, threadId, key, turnId: turn.id, answer: null, calls: 1 });
    const found = await watch(`the call of ${key} has a result`, async () => {
      const row = await app.store.db
        .selectFrom('calls')
        .leftJoin('tasks', 'tasks.call_id', 'calls.id')
        .select(['calls.output', 'tasks.id'])
        .where('calls.turn_id', '=', turn.id)
        .where('calls.state', '=', 'done')
        .executeTakeFirst();
      const { status } = row
        ? { status: '' }
        : await app.store.db.selectFrom('turns').select('status').where('id', '=', turn.id).executeTakeFirstOrThrow();
      if (!row && status !== 'queued' && status !== 'in_progress')
        throw new Error(`the turn is ${status} without a call`);
      return row;
    });
    if (found.id) return { plan, threadId, taskId: found.id, stoppedAt: null };
    // a host without containers says so, and a person asks again
    if (!/containers|not connected/.test(found.output ?? ''))
      throw new Error(`${key}: no task was made: ${found.output}`);
    refused();
    await sleep(1_000);
  }
}

async function answers(
  { app, client, problem }: People,
  { plan, taskId, threadId }: Made,
  over: AbortSignal,
): Promise<void> {
  try {
    for (const [at, ask] of plan.asks.entries()) {
      const open = await watch(
        `${plan.name} asks: ${ask.question}`,
        () =>
          app.store.db
            .selectFrom('questions')
            .select('id')
            .where('task_id', '=', taskId)
            .where('state', '=', 'open')
            .where('prompt', '=', ask.question)
            .executeTakeFirst(),
        over,
      );
      await client.watch(
        `${ask.question} is shown`,
        threadId,
        (detail) => over.aborted || detail.pending_user_inputs.some(({ id }) => id === open.id),
      );
      await sleep(ask.delayMs, undefined, { signal: over });
      const { kind } = await client.post<{ kind: string }>(
        `/v1/threads/${threadId}/messages`,
        { text: ask.said },
        `${plan.name}-answer-${at}`,
      );
      if (kind !== 'answer' && plan.end !== 'cancelled')
        problem(`${plan.name}: the answer to an open question was taken as ${kind}`);
    }
  } catch (error) {
    if (!over.aborted) problem(`${plan.name}: ${(error as Error).message}`);
  }
}

async function stops({ client, problem }: People, made: Made, over: AbortSignal): Promise<void> {
  const { plan, threadId, taskId } = made;
  if (plan.stopAfterMs === null) return;
  try {
    await sleep(plan.stopAfterMs, undefined, { signal: over });
    const { kind } = await client.post<{ kind: string }>(
      `/v1/threads/${threadId}/messages`,
      { text: `stop ${taskId}` },
      `${plan.name}-stop`,
    );
    if (kind === 'task') made.stoppedAt = Date.now();
    else if (!over.aborted) problem(`${plan.name}: "stop" was taken as ${kind}`);
  } catch (error) {
    if (!over.aborted) problem(`${plan.name}: ${(error as Error).message}`);
  }
}

async function holds({ client, problem }: People, { plan, threadId, taskId }: Made, over: AbortSignal): Promise<void> {
  if (!plan.pause) return;
  try {
    for (const [word, afterMs] of [
      ['pause', plan.pause.afterMs],
      ['resume', plan.pause.forMs],
    ] as const) {
      await sleep(afterMs, undefined, { signal: over });
      await client.post(`/v1/threads/${threadId}/messages`, { text: `${word} ${taskId}` }, `${plan.name}-${word}`);
    }
  } catch (error) {
    if (!over.aborted) problem(`${plan.name}: ${(error as Error).message}`);
  }
}
