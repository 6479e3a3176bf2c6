import { cancelUpdate } from '../../src/contracts/signals.ts';
import { requireDocker } from '../support/docker.ts';
import { containersOf, inState, kennelReady, linesOf, startTask, workspace } from '../support/kennel-app.ts';
import { until } from '../support/until.ts';
import type { Bench, Part } from './bench.ts';
import { figures, type Row } from './figures.ts';

/** A line of the log at least every 100 ms, for half a minute and more. */
const CHATTER = Array.from({ length: 400 }, () => 'wait 0.1').join(';');
/** The supervisor's own: a role that lived this long is restarted at once. */
const STEADY_MS = 31_000;

/** The kennel role dies while it follows a task: how long until the next line of the task is stored. */
export const kennelReattach: Part = {
  name: 'kennel-reattach',
  title: 'SIGKILL of the kennel role while a task writes a line every 100 ms: to the next stored line',
  async run(bench) {
    await requireDocker();
    await kennelReady(bench.app);
    await workspace(bench.app, 'chatter');
    const delays: number[] = [];
    for (let at = 0; at < bench.pick(1, 4, 8); at++) delays.push(await killOnce(bench));
    const { n, median, min } = figures(delays);
    return [{ kills: n, 'median ms': median, 'min ms': min, 'worst ms': Math.max(...delays) } satisfies Row];
  },
};

async function killOnce({ app, temporal }: Bench): Promise<number> {
  // a role that dies again soon is restarted later and later: that is not what is measured
  await until(
    'the kennel role has lived long enough to be restarted at once',
    () => Date.now() - Date.parse(kennelRole(app).since) > STEADY_MS,
    120_000,
  );
  const { id } = await startTask(app, CHATTER, { workspace: 'chatter' });
  const stored = async (): Promise<number> =>
    Number(
      (
        await app.store.db
          .selectFrom('task_log')
          .select((e) => e.fn.max('seq').as('seq'))
          .where('task_id', '=', id)
          .executeTakeFirst()
      )?.seq ?? 0,
    );
  await until('the agent is at work', async () => (await stored()) >= 10);
  app.kill('kennel');
  const killed = Date.now();
  const before = await stored();
  await until('a further line is stored', async () => (await stored()) > before, 60_000);
  const delay = Date.now() - killed;
  const task = await app.store.db
    .selectFrom('tasks')
    .select('workflow_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  await temporal.workflow.getHandle(task.workflow_id).executeUpdate(cancelUpdate);
  await inState(app, id, 'cancelled');
  const lines = await linesOf(app, id);
  if (lines.some((line, index) => line.seq !== index + 1)) throw new Error(`lines of task ${id} are missing`);
  if (containersOf(id).length > 0) throw new Error(`task ${id} is over, and its container is still there`);
  return delay;
}

const kennelRole = (app: Bench['app']) => app.state().roles.find((role) => role.name === 'kennel')!;
