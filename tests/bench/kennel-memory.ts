import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { homeLabel } from '../../src/adapters/kennel/docker/containers.ts';
import { childEnvironment } from '../../src/config.ts';
import { cancelUpdate } from '../../src/contracts/signals.ts';
import { requireDocker } from '../support/docker.ts';
import { inState, kennelReady, startTask, workspace } from '../support/kennel-app.ts';
import { until } from '../support/until.ts';
import type { Bench, Part } from './bench.ts';
import { type Row, round } from './figures.ts';
import { type Usage, usageByRole } from './processes.ts';

const SETTLE_MS = 15_000;
const SHOWN = ['kennel', 'worker', 'temporal', 'postgres'];

/** What the roles take while tasks run that do nothing but report each second. */
export const kennelMemory: Part = {
  name: 'kennel-memory',
  title: 'Memory and processor of the roles that follow tasks, each of which writes a line a second',
  async run(bench) {
    const { app, pick } = bench;
    await requireDocker();
    await kennelReady(app);
    const rows: Row[] = [];
    const ids: string[] = [];
    for (const tasks of pick([0, 3], [0, 10, 50], [0, 10, 50])) {
      // two at a time: what is measured is the following, not the start
      const missing = Array.from({ length: tasks - ids.length }, (_, at) => `followed-${ids.length + at}`);
      const lane = async (): Promise<void> => {
        for (let name = missing.shift(); name; name = missing.shift()) {
          await workspace(app, name);
          const { id } = await startTask(app, 'wait 600', { workspace: name, timeout: 900_000 });
          ids.push(id);
          await until(
            `task ${id} is followed`,
            () =>
              app.store.db
                .selectFrom('task_log')
                .select('seq')
                .where('task_id', '=', id)
                .where('seq', '>=', 3)
                .executeTakeFirst(),
            120_000,
          );
        }
      };
      await Promise.all([lane(), lane()]);
      rows.push({ tasks, ...(await usageOver(bench, SETTLE_MS)) });
    }
    const begun = Date.now();
    await Promise.all(ids.map((id) => cancel(bench, id)));
    rows.push({
      tasks: `${ids.length} cancelled at once`,
      'all over after ms': Date.now() - begun,
      'containers left': containersOf(app.home).length,
    });
    if (containersOf(app.home).length > 0) throw new Error('containers are left of tasks that are over');
    await pause(SETTLE_MS);
    rows.push({ tasks: 'after', ...(await usageOver(bench, SETTLE_MS)) });
    return rows;
  },
};

/** Memory at the end of a stretch, and the share of one processor that was used in it. */
async function usageOver({ app }: Bench, ms: number): Promise<Row> {
  const before = usageByRole(app);
  const begun = Date.now();
  await pause(ms);
  const after = usageByRole(app);
  const share = (role: string): number =>
    round((((after[role]?.cpuMs ?? 0) - (before[role]?.cpuMs ?? 0)) / (Date.now() - begun)) * 100, 1);
  return Object.fromEntries(
    SHOWN.flatMap((role) => [
      [`${role} MB`, round((after[role] as Usage | undefined)?.memoryMb ?? 0, 0)],
      [`${role} CPU %`, share(role)],
    ]),
  );
}

async function cancel({ app, temporal }: Bench, id: string): Promise<void> {
  const { workflow_id } = await app.store.db
    .selectFrom('tasks')
    .select('workflow_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  await temporal.workflow.getHandle(workflow_id).executeUpdate(cancelUpdate);
  await inState(app, id, 'cancelled', 180_000);
}

/** Ids of all containers of an instance, whatever they are for. */
const containersOf = (home: string): string[] =>
  execFileSync('docker', ['ps', '-aq', '--filter', `label=fetch.home=${homeLabel(home)}`], {
    encoding: 'utf8',
    env: childEnvironment({}),
  })
    .split('\n')
    .filter(Boolean);
