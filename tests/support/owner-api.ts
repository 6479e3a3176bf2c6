import { randomBytes } from 'node:crypto';
import type { AgentName } from '../../src/contracts/kennel.ts';
import { insertTask, setTaskState, type Task } from '../../src/store/kennel/tasks/tasks.ts';
import { type ApiStack, startApi } from '../conformance/api-stack.ts';
import { send } from '../conformance/golden.ts';
import { newThread } from './thread.ts';

/**
 * Both HTTP servers on a real database, and what stands behind the owner's page, made by the same functions as in life.
 */
export interface OwnerApi {
  api: ApiStack;
  /** status and JSON of an answer */
  ask<T>(method: string, path: string, body?: object): Promise<{ status: number; body: T }>;
  get<T>(path: string): Promise<T>;
  /** a coding task of a new thread, at work */
  task(
    goal: string,
    more?: { workspace?: string; threadId?: string; harness?: AgentName; worktree?: boolean },
  ): Promise<Task>;
  close(): Promise<void>;
}

const TOKEN = 'tok-owner';

export async function startOwnerApi(options: Partial<Parameters<typeof startApi>[0]> = {}): Promise<OwnerApi> {
  const api = await startApi({ token: TOKEN, model: 'm', corsOrigins: '', ...options });
  const ask: OwnerApi['ask'] = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, ...(body && { 'Content-Type': 'application/json' }) };
    const answer = await send(api.port, method, path, headers, body ? JSON.stringify(body) : null);
    return { status: answer.status, body: parsed(answer.body) };
  };
  return {
    api,
    ask,
    async get(path) {
      const { status, body } = await ask('GET', path);
      if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${JSON.stringify(body)}`);
      return body as never;
    },
    async task(goal, { workspace = fresh('ws'), threadId, harness = 'practice', worktree = false } = {}) {
      const { db } = api.store;
      const thread = threadId ?? (await newThread(db)).threadId;
      const { chat_id } = await db
        .selectFrom('threads')
        .select('chat_id')
        .where('id', '=', thread)
        .executeTakeFirstOrThrow();
      const id = fresh('tsk');
      const about = {
        id,
        chat_id,
        call_id: `call_${id}`,
        workflow_id: `task/${id}`,
        goal,
        agent: harness,
        harness,
        host: 'local',
        workspace,
        worktree,
      };
      const task = (await insertTask(db, { ...about, timeout_ms: 60_000 }))!;
      await setTaskState(db, id, 'running', { step: 1 });
      return { ...task, state: 'running', step: 1 };
    },
    close: () => api.close(),
  };
}

const fresh = (kind: string): string => `${kind}_${randomBytes(6).toString('hex')}`;

function parsed(text: string): never {
  try {
    return JSON.parse(text) as never;
  } catch {
    return text as never;
  }
}
