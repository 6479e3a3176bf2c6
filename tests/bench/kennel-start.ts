import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, Connection } from '@temporalio/client';
import { startTestApp, type TestApp } from '../support/app.ts';
import { requireDocker } from '../support/docker.ts';
import { inState, kennelReady, startTask, workspace } from '../support/kennel-app.ts';
import { clientOf } from '../support/temporal-client.ts';
import { until } from '../support/until.ts';
import type { Part } from './bench.ts';
import { figures, type Row } from './figures.ts';
import { openByHand } from './kennel-by-hand.ts';
import { isAgentLine, type Points, pointsOf } from './kennel-points.ts';

/** Where the milliseconds of a task go: from one moment to a later one. */
const STRETCHES: ReadonlyArray<[name: string, from: string, to: string]> = [
  ['start: result of the call to the workflow', 'called', 'workflow started'],
  ['start: claim of the workspace', 'workflow started', 'prepareTask scheduled'],
  ['start: prepareTask waits', 'prepareTask scheduled', 'prepareTask started'],
  ['start: prepareTask runs', 'prepareTask started', 'prepareTask completed'],
  ['start: to beginStep', 'prepareTask completed', 'beginStep started'],
  ['start: beginStep runs', 'beginStep started', 'beginStep completed'],
  ['- until the container is made', 'beginStep started', 'run create'],
  ['- the container is started', 'run create', 'run start'],
  ['- beside it, the container of the checkpoint is started', 'checkpoint create', 'checkpoint start'],
  ['start: container to the first line of the runner', 'run start', 'log started'],
  ['start: runner to the first line of the agent', 'log started', 'log agent'],
  ['start: line written to line stored', 'log agent', 'stored'],
  ['work: first line of the agent to the last of the log', 'log agent', 'log ended'],
  ['end: last line to the end of follow', 'log ended', 'follow completed'],
  ['end: conclude', 'follow completed', 'conclude completed'],
  ['end: report is sent', 'conclude completed', 'sent'],
];

/** A coding task with the practice agent, from the result of `task_create` on, and the same agent by hand beside it. */
export const kennelStart: Part = {
  name: 'kennel-start',
  title:
    'Coding task: result of task_create to the first line of the agent stored, and to the report (ms); the same agent by hand beside it',
  async run({ app, temporal, pick }) {
    await requireDocker();
    const folder = mkdtempSync(join(tmpdir(), 'fetch-bench-hand-'));
    try {
      await kennelReady(app);
      const first: Points[] = [];
      for (let at = 0; at < pick(1, 1, 3); at++) first.push(await firstOfAnInstance());
      await workspace(app, 'bench');
      const hand = await openByHand(folder, (await workspace(app, 'hand')).path);
      // two of each settle what is compiled and cached on first use
      for (let at = 0; at < 2; at++) {
        await oneTask(app, temporal, `write warm-${at}.txt warm`);
        await hand.run(`write warm-${at}.txt warm`);
      }
      const tasks: Points[] = [];
      const hands: Array<Awaited<ReturnType<typeof hand.run>>> = [];
      for (let at = 0; at < pick(2, 15, 15); at++) {
        tasks.push(await oneTask(app, temporal, `write file-${at}.txt ${at}`));
        hands.push(await hand.run(`write file-${at}.txt ${at}`));
      }
      const row = (what: string, values: number[]): Row => ({ what, ...figures(values) });
      const toFirst = tasks.map((points) => points.stored! - points.called!);
      const whole = tasks.map((points) => points.sent! - points.called!);
      return [
        row(
          'first task of a new instance: first line stored',
          first.map((points) => points.stored! - points.called!),
        ),
        row(
          'first task of a new instance: report',
          first.map((points) => points.sent! - points.called!),
        ),
        row('task: first line stored', toFirst),
        row(
          'by hand: first line',
          hands.map((times) => times.first),
        ),
        row(
          'overhead to the first line',
          toFirst.map((ms, at) => ms - hands[at]!.first),
        ),
        row('task: report', whole),
        row(
          'by hand: last line',
          hands.map((times) => times.ended),
        ),
        row(
          'by hand: end of the command',
          hands.map((times) => times.exited),
        ),
        row(
          'overhead of the whole',
          whole.map((ms, at) => ms - hands[at]!.ended),
        ),
        ...STRETCHES.flatMap(([name, from, to]) => {
          const found = tasks.flatMap((points) =>
            points[from] !== undefined && points[to] !== undefined ? [points[to] - points[from]] : [],
          );
          return found.length > 0 ? [row(name, found)] : [];
        }),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Takes a task to its end. `stored` is exact to 10 ms. */
async function oneTask(app: TestApp, temporal: Client, goal: string): Promise<Points> {
  const { id } = await startTask(app, goal, { workspace: 'bench' });
  const limit = Date.now() + 60_000;
  while (!(await agentIsHeard(app, id))) {
    if (Date.now() > limit) throw new Error(`nothing was heard of the agent of task ${id}`);
    await pause(10);
  }
  const stored = Date.now();
  await inState(app, id, 'completed');
  await until('the report is sent', async () => {
    const row = await app.store.db
      .selectFrom('outbox')
      .select('sent_at')
      .where('id', '=', `out_${id}_result`)
      .executeTakeFirst();
    return row?.sent_at;
  });
  return { ...(await pointsOf(app, temporal, id)), stored };
}

const agentIsHeard = async (app: TestApp, id: string): Promise<boolean> =>
  (await app.store.db.selectFrom('task_log').select('line').where('task_id', '=', id).execute()).some(({ line }) =>
    isAgentLine(line),
  );

/** The image is there, everything else happens for the first time. */
async function firstOfAnInstance(): Promise<Points> {
  const app = await startTestApp();
  try {
    const connection = await Connection.connect({ address: app.temporalAddress });
    try {
      await kennelReady(app);
      await workspace(app, 'bench');
      return await oneTask(app, clientOf(app, connection), 'write first.txt first');
    } finally {
      await connection.close();
    }
  } finally {
    await app.close();
  }
}
