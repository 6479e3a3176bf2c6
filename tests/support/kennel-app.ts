import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentName, LogLine } from '../../src/contracts/kennel.ts';
import type { Task } from '../../src/store/kennel/tasks/tasks.ts';
import type { ApiCalls } from './api-calls.ts';
import { startTestApp, type TestApp } from './app.ts';
import { requireDocker } from './docker.ts';
import { until } from './until.ts';

/** An instance that runs coding tasks without asking. */
export async function startTaskApp(env: Record<string, string> = {}): Promise<TestApp> {
  await requireDocker();
  const app = await startTestApp({ FETCH_AUTONOMY: 'autonomous', ...env });
  try {
    await kennelReady(app);
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}

/** Waits until the host of an instance has containers; its own reason is the error where it has none. */
export const kennelReady = (app: TestApp): Promise<unknown> =>
  until(
    'the host has containers',
    async () => {
      const host = await app.store.db.selectFrom('kennel_hosts').selectAll().executeTakeFirst();
      if (host?.problem) throw new Error(host.problem);
      return host?.ready;
    },
    60_000,
  );

/**
 * Makes a workspace in the home of an instance, or in the folder of another host, as a person would: a git repository
 * with one commit.
 */
export async function workspace(
  app: Pick<TestApp, 'home' | 'store'> & { folder?: string },
  name: string,
): Promise<{ path: string; git(...args: string[]): string }> {
  const path = join(app.folder ?? join(app.home, 'workspaces'), name);
  mkdirSync(path, { recursive: true });
  const git = (...args: string[]): string =>
    execFileSync(
      'git',
      ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'safe.directory=*', ...args],
      { cwd: path, encoding: 'utf8' },
    ).trim();
  git('init', '-q', '-b', 'main');
  writeFileSync(join(path, 'README.md'), `${name}\n`);
  git('add', '.');
  git('commit', '-qm', 'first');
  await until('the host has seen it', () =>
    app.store.db.selectFrom('workspaces').select('name').where('name', '=', name).executeTakeFirst(),
  );
  return { path, git };
}

/**
 * Starts a task in a thread of its own, with the practice agent unless another is named. `timeout: null` leaves it to
 * the owner.
 */
export async function startTask(
  app: Pick<TestApp, 'store' | keyof ApiCalls>,
  goal: string,
  options: {
    workspace: string;
    agent?: AgentName;
    timeout?: number | null;
    thread?: string;
    worktree?: boolean;
    plan?: boolean;
  },
): Promise<{ thread: string; id: string }> {
  const thread = options.thread ?? (await app.thread());
  const { agent = 'practice', timeout = 120_000, worktree, plan } = options;
  const call = {
    goal,
    agent,
    workspace: options.workspace,
    ...(timeout !== null && { timeout }),
    ...(worktree && { worktree }),
    ...(plan !== undefined && { plan }),
  };
  const turn = await app.turn(thread, [{ call: [['task_create', call]] }, { say: '$LAST' }]);
  await app.ended(thread, turn);
  const row = await app.store.db
    .selectFrom('tasks')
    .innerJoin('calls', 'calls.id', 'tasks.call_id')
    .select('tasks.id')
    .where('calls.turn_id', '=', turn)
    .executeTakeFirst();
  if (!row) throw new Error(`no task was made: ${JSON.stringify((await app.detail(thread)).items.at(-1))}`);
  return { thread, id: row.id };
}

export const findTask = (app: Pick<TestApp, 'store'>, id: string): Promise<Task> =>
  app.store.db.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** The task once it is in a state; one that is over has been reported as well. */
export const inState = (app: Pick<TestApp, 'store'>, id: string, state: Task['state'], ms = 60_000): Promise<Task> =>
  until(
    `task ${id} is ${state}`,
    async () => {
      const task = await findTask(app, id);
      if (task.ended_at && task.state !== state) throw new Error(`it is ${task.state}: ${task.reason}`);
      if (task.state !== state) return null;
      return task.ended_at &&
        !(await app.store.db.selectFrom('outbox').select('id').where('id', '=', `out_${id}_result`).executeTakeFirst())
        ? null
        : task;
    },
    ms,
  );

/** What the person was told of a task at its end. */
export const report = async (app: TestApp, id: string): Promise<string> =>
  (
    await app.store.db
      .selectFrom('outbox')
      .select('body')
      .where('id', '=', `out_${id}_result`)
      .executeTakeFirstOrThrow()
  ).body;

/** Ids of the containers of a task, running or not. */
export const containersOf = (id: string): string[] =>
  execFileSync('docker', ['ps', '-aq', '--no-trunc', '--filter', `label=fetch.task=${id}`], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);

/** Lines of a task's log as they are stored. */
export const linesOf = async (app: Pick<TestApp, 'store'>, id: string): Promise<LogLine[]> =>
  (await app.store.db.selectFrom('task_log').select('line').where('task_id', '=', id).orderBy('seq').execute()).map(
    (row) => row.line,
  );
