import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { createGate, type Gate, type GateDeps } from '../../src/adapters/kennel/gate/gate.ts';
import { loadConfig } from '../../src/config.ts';
import { openAsks } from '../../src/store/kennel/egress-rules.ts';
import { askAboutHosts, dueEgress, settleHosts } from '../../src/store/kennel/questions/egress-questions.ts';
import { findQuestion } from '../../src/store/kennel/questions/task-questions.ts';
import { findTask, type Task } from '../../src/store/kennel/tasks/tasks.ts';
import type { Db } from '../../src/store/postgres/database.ts';
import type { Question } from '../../src/store/turns/questions/questions.ts';
import { startTestDatabase } from './database.ts';
import { newThread } from './thread.ts';
import { until } from './until.ts';

/** Real gates on a real store, without containers. */
export interface GateBench {
  db: Db;
  /** a folder for one test */
  home: string;
  /** closed after the test, the last first */
  open: Array<{ close(): unknown }>;
  /** A gate with an open task, and what a program inside would do. */
  task(workspace: string, more?: Partial<GateDeps>): Promise<OpenedTask>;
  cleared(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenedTask {
  gate: Gate;
  task: Task;
  /** Waits until so many hosts are asked for. */
  asked(count: number): Promise<unknown>;
  /** Waits until its question is due by itself. */
  due(): Promise<unknown>;
  /** The person's answer to all that is asked for now, whether its question is due already or not. */
  answer(words: string): Promise<Question>;
  /** Sends a request, and gives the connection with all that came back. */
  send(head: string): Program;
  connect(target: string, headers?: string): Program;
}

export interface Program {
  socket: Socket;
  said(): string;
  begins(text: string): Promise<unknown>;
}

const loopback = {
  allows: (address: string) => address === '127.0.0.1',
  resolve: async () => [{ address: '127.0.0.1', family: 4 as const }],
};
const ROOM = { tokens: 1, microUsd: 1, dayTokens: 1, dayMicroUsd: 1 };

export async function startGateBench(): Promise<GateBench> {
  const database = await startTestDatabase();
  const { db } = database.store;
  const { threadId } = await newThread(db);
  const folder = () => mkdtempSync(join(tmpdir(), 'fetch-egress-'));
  let tasks = 0;
  const newTask = async (workspace: string): Promise<string> => {
    const id = `task_${++tasks}`;
    const at = {
      chat_id: `api/${threadId}`,
      thread_id: threadId,
      turn_id: 'turn_1',
      call_id: `call_${id}`,
      workflow_id: `task/${id}`,
    };
    await db
      .insertInto('tasks')
      .values({
        id,
        ...at,
        goal: 'g',
        agent: 'auto',
        harness: 'practice',
        host: 'local',
        workspace,
        worktree: true,
        state: 'running',
        timeout_ms: 60_000,
      })
      .execute();
    return id;
  };
  const bench: GateBench = {
    db,
    home: folder(),
    open: [],
    async task(workspace, more = {}) {
      const { open, home } = bench;
      const gate = createGate({
        db,
        settings: loadConfig({ FETCH_HOME: home }, {}),
        log: pino({ level: 'silent' }),
        ...loopback,
        ...more,
      });
      open.push({ close: () => gate.closeAll() });
      const task = (await findTask(db, await newTask(workspace)))!;
      await gate.open({
        taskId: task.id,
        folder: join(home, task.id),
        budget: ROOM,
        allow: [],
        at: { host: 'local', workspace },
        threadId,
      });
      const send = (head: string) => program(join(home, task.id), head, open);
      return {
        gate,
        task,
        asked: (count) =>
          until(`${count} hosts are asked for`, async () => (await openAsks(db, task)).length === count),
        due: () => until('its question is due', () => dueEgress(db, task), 15_000),
        answer: (words) => answered(db, task, words),
        send,
        connect: (target, headers = '') => send(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`),
      };
    },
    async cleared() {
      for (const item of bench.open.splice(0).reverse()) await item.close();
      rmSync(bench.home, { recursive: true, force: true });
      bench.home = folder();
    },
    async close() {
      rmSync(bench.home, { recursive: true, force: true });
      await database.close();
    },
  };
  return bench;
}

async function answered(db: Db, task: Task, words: string): Promise<Question> {
  // more hosts belong to the question for some seconds: as if these were over
  await db
    .updateTable('egress_asks')
    .set({ asked_at: sql`asked_at - interval '10 seconds'` })
    .where('task_id', '=', task.id)
    .where('question_id', 'is', null)
    .execute();
  const { questionId } = await until('it is due', () => dueEgress(db, task), 15_000);
  await askAboutHosts(db, task, questionId);
  const question = (await findQuestion(db, questionId))!;
  await settleHosts(db, question, { answer: words, by: { role: 'owner' } });
  const decided = { state: 'answered' as const, decision: 'answered' as const, answer: words, decided_at: new Date() };
  await db.updateTable('questions').set(decided).where('id', '=', questionId).execute();
  return question;
}

function program(folder: string, head: string, open: GateBench['open']): Program {
  const socket = connect({ path: join(folder, 'egress.sock') });
  open.push({ close: () => socket.destroy() });
  let said = '';
  socket.on('data', (chunk) => {
    said += chunk;
  });
  socket.on('error', () => {});
  socket.write(head);
  return { socket, said: () => said, begins: (text) => until(`it gets ${text}`, () => said.startsWith(text)) };
}
