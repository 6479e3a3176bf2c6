import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiCalls } from '../support/api-calls.ts';
import { requireDocker } from '../support/docker.ts';
import { containersOf, findTask, inState, linesOf, startTask, workspace } from '../support/kennel-app.ts';
import { until } from '../support/until.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** A host counts as away after a second, and as gone after ten. Its disk is small. */
const AWAY = { FETCH_KENNEL_AWAY_SECONDS: '1', FETCH_KENNEL_FREE_MB: '10' };

let cluster: Cluster;
let app: ApiCalls & Pick<Cluster['database'], 'store'>;

beforeAll(async () => {
  await requireDocker();
  cluster = await startCluster({ seed: 1, env: AWAY });
  app = { ...cluster, store: cluster.database.store };
  await until('both hosts have containers', async () => {
    const hosts = await app.store.db.selectFrom('kennel_hosts').select('host').where('ready', '=', true).execute();
    return hosts.length === 2;
  });
});
afterAll(() => cluster?.close());

/** A task in a workspace that only one host has, once it waits in its container. */
async function taskOn(
  at: number,
  name: string,
): Promise<{ id: string; container: string; path: string; git(...args: string[]): string }> {
  const host = cluster.hosts[at]!;
  const { path, git } = await workspace({ ...app, home: host.home }, name);
  const thread = await app.thread({ allow_shell: true });
  await app.store.db
    .updateTable('chats')
    .set({ workspace: name, workspace_host: host.name })
    .where('id', '=', (e) => e.selectFrom('threads').select('chat_id').where('id', '=', thread))
    .execute();
  const { id } = await startTask(app, 'append a.txt one; wait 25; append a.txt two', { workspace: name, thread });
  await until('it waits', async () => {
    const { ended_at, reason } = await findTask(app, id);
    if (ended_at) throw new Error(`it has ended: ${reason}`);
    return (await linesOf(app, id)).some((line) => line.type === 'tool' && line.title.includes('wait'));
  });
  return { id, container: containersOf(id)[0]!, path, git };
}

const paused = (container: string): boolean =>
  execFileSync('docker', ['inspect', '-f', '{{.State.Paused}}', container], { encoding: 'utf8' }).trim() === 'true';

/** It ran once, on its own host, in its first container, and was reported once. */
async function endsAtHome({ id, path, git }: Awaited<ReturnType<typeof taskOn>>, at: number): Promise<void> {
  const task = await inState(app, id, 'completed', 180_000);
  expect([task.host, task.step]).toEqual([cluster.hosts[at]!.name, 1]);
  expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  expect(git('log', '--format=%s').split('\n')).toHaveLength(2);
  const reports = await app.store.db
    .selectFrom('outbox')
    .select('id')
    .where('id', 'like', `out_${id}_result%`)
    .execute();
  expect(reports).toHaveLength(1);
}

describe('a task of one of two hosts', () => {
  it('holds still while its host is cut off from everything, and goes on there afterwards, once', async () => {
    const task = await taskOn(0, 'cut');
    const { network } = cluster.hosts[0];
    network.cut();
    await until('its container is held', () => paused(task.container), 60_000);
    // the other host goes on meanwhile
    await cluster.probe();
    expect((await findTask(app, task.id)).host).toBe('one');
    network.heal();
    await endsAtHome(task, 0);
  });

  it('goes on where it was when the whole host was killed and is back', async () => {
    const task = await taskOn(1, 'killed');
    await cluster.hosts[1].kill();
    await cluster.probe();
    cluster.hosts[1].start();
    await endsAtHome(task, 1);
  });
});
