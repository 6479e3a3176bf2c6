import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { homeLabel, LABEL } from '../../src/adapters/kennel/docker/containers.ts';
import { baselineOfQuestion, baselineWorkflowId, taskWorkflowId } from '../../src/contracts/ids.ts';
import type { TestApp } from '../support/app.ts';
import { containersOf, findTask, inState, kennelReady, linesOf, startTask, workspace } from '../support/kennel-app.ts';
import { dependent } from '../support/npm-registry.ts';
import { until } from '../support/until.ts';

/** A question keeps its container for this long while histories are recorded. */
export const HOLD_MS = 4_000;

/**
 * Real runs of coding tasks, each to its end; the workflow id of each by the name of its history. Needs a Docker
 * engine.
 */
export const taskRuns: Record<string, (app: TestApp) => Promise<string>> = {
  'task-completed': (app) => run(app, 'write a.txt a; run ls'),
  'task-failed': (app) => run(app, 'fail the disk is on fire'),
  'task-answered': (app) =>
    run(app, 'ask Which? | one | two; write a.txt {answer}', async (id, thread) => {
      await inState(app, id, 'waiting');
      await app.say(thread, '2');
    }),
  'task-parked': (app) =>
    run(app, 'ask Which? | one | two; write a.txt {answer}', async (id, thread) => {
      await inState(app, id, 'waiting');
      await until('its container is gone', () => containersOf(id).length === 0);
      await app.say(thread, '2');
    }),
  'task-cancelled': (app) =>
    run(app, 'wait 600', async (id, thread) => {
      await working(app, id);
      await app.say(thread, 'stop');
    }),
  'task-paused': (app) =>
    run(app, 'wait 3; write a.txt a', async (id, thread) => {
      await working(app, id);
      await app.say(thread, 'pause');
      await inState(app, id, 'paused');
      await app.say(thread, 'resume');
    }),
  'task-reborn': (app) =>
    run(app, 'wait 3; write a.txt a', async (id) => {
      await working(app, id);
      execFileSync('docker', ['kill', containersOf(id)[0]!]);
    }),
  'task-timed-out': (app) => run(app, 'wait 600', async () => {}, 2_000),
  'baseline-checked': checkedProject,
};

/** One that waits for its workspace while another works in it, and tells it by a signal when it is done. */
async function sharedWorkspace(app: TestApp, name: string): Promise<{ first: string; second: string }> {
  await kennelReady(app);
  await workspace(app, name);
  const first = await startTask(app, 'wait 3', { workspace: name });
  const second = await startTask(app, 'write a.txt a', { workspace: name, thread: first.thread });
  await until('it is over', async () => (await findTask(app, second.id)).ended_at);
  return { first: taskWorkflowId(first.id), second: taskWorkflowId(second.id) };
}

export const queuedTask = async (app: TestApp): Promise<string> => (await sharedWorkspace(app, 'shared')).second;
export const freeingTask = async (app: TestApp): Promise<string> => (await sharedWorkspace(app, 'freed')).first;

/** Paused, resumed and cancelled by the model's tools, which are updates of its workflow. */
export async function updatedTask(app: TestApp): Promise<string> {
  await kennelReady(app);
  await workspace(app, 'updated');
  const { id, thread } = await startTask(app, 'wait 600', { workspace: 'updated' });
  await working(app, id);
  for (const call of ['task_pause', 'task_resume', 'task_cancel']) {
    const turn = await app.turn(thread, [{ call: [[call, { taskId: id }]] }, { say: '$LAST' }]);
    await app.ended(thread, turn);
  }
  await until('it is over', async () => (await findTask(app, id)).ended_at, 120_000);
  return taskWorkflowId(id);
}

/** A conversation that starts a task as its child; its thread. */
export async function startingThread(app: TestApp): Promise<string> {
  await kennelReady(app);
  await workspace(app, 'started');
  const { id, thread } = await startTask(app, 'write a.txt a', { workspace: 'started' });
  await until('it is over', async () => (await findTask(app, id)).ended_at, 120_000);
  return thread;
}

/** Containers of shell commands of this instance. */
const shells = (app: TestApp): string[] => {
  const labels = [`${LABEL.home}=${homeLabel(app.home)}`, `${LABEL.step}=shell`];
  return execFileSync('docker', ['ps', '-q', ...labels.flatMap((label) => ['--filter', `label=${label}`])], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter(Boolean);
};

/**
 * A conversation whose host dies under a command. The command must not run twice, so the time-out of its activity is
 * final. Its thread.
 */
export async function lostCommand(app: TestApp): Promise<string> {
  await kennelReady(app);
  await workspace(app, 'lost');
  const thread = await app.thread({ allow_shell: true, auto_approve: true });
  const turn = await app.turn(thread, [
    { call: [['shell_run', { command: 'sleep 60', workspace: 'lost' }]] },
    { say: '$LAST' },
  ]);
  await until('the command runs', () => shells(app).length > 0);
  app.kill('kennel');
  await app.ended(thread, turn);
  await app.whenReady();
  return thread;
}

let made = 0;

async function run(
  app: TestApp,
  goal: string,
  meanwhile: (id: string, thread: string) => Promise<void> = async () => {},
  timeout?: number,
): Promise<string> {
  await kennelReady(app);
  made += 1;
  await workspace(app, `recorded-${made}`);
  const { id, thread } = await startTask(app, goal, { workspace: `recorded-${made}`, timeout });
  await meanwhile(id, thread);
  await until('it is over', async () => (await findTask(app, id)).ended_at, 120_000);
  return taskWorkflowId(id);
}

const working = (app: TestApp, id: string) =>
  until('it works', async () => (await linesOf(app, id)).some((line) => line.type === 'tool'), 60_000);

/** A check of a project that asks for its registry, and says what it has found. */
async function checkedProject(app: TestApp): Promise<string> {
  await kennelReady(app);
  const { path, git } = await workspace(app, 'checked');
  for (const [file, text] of Object.entries(dependent)) writeFileSync(join(path, file), text);
  git('add', '.');
  git('commit', '-qm', 'needs left');
  const thread = await app.thread();
  await app.say(thread, 'check checked');
  const asked = await until('it asks', () =>
    app.store.db
      .selectFrom('questions')
      .innerJoin('outbox', 'outbox.turn_id', 'questions.turn_id')
      .select('questions.id')
      .where('questions.thread_id', '=', thread)
      .where('outbox.state', '=', 'sent')
      .executeTakeFirst(),
  );
  await app.say(thread, 'yes');
  return baselineWorkflowId(baselineOfQuestion(asked.id)!);
}
