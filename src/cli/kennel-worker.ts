import { NativeConnection, Worker } from '@temporalio/worker';
import { createAct } from '../activities/act.ts';
import { createPreview } from '../activities/preview.ts';
import { createRoutineActivities } from '../activities/routine.ts';
import type { KennelDeps } from '../activities/task/deps.ts';
import { createTaskActivities } from '../activities/task/task.ts';
import { tendHost } from '../activities/task/tend.ts';
import { workspacesFolder } from '../activities/task/workspace.ts';
import { createGate } from '../adapters/kennel/gate/gate.ts';
import { openKennel } from '../adapters/kennel/open-kennel.ts';
import type { Config } from '../config.ts';
import { kennelQueue } from '../contracts/ids.ts';
import { loginWarning } from '../domain/harnesses.ts';
import { loginsOf } from '../domain/logins.ts';
import { createLog } from '../log.ts';
import { openRole } from './connect.ts';
import { roleProcess } from './role-process.ts';
import { drained, graceMs, installRuntime, runToEnd, workerTimings } from './temporal-runtime.ts';

/**
 * The role of a host that has workspaces and runs containers: follows coding tasks, runs tools of the kennel, holds the gate, and
 * ends containers that nobody needs. Any number of hosts may have one each. It runs without an engine too, and says what is missing.
 */
export async function run(config: Config): Promise<void> {
  const role = roleProcess(graceMs(config));
  installRuntime(config);
  const { store, temporal, address, close } = await openRole(config, 'fetch-kennel', 16);
  const connection = await NativeConnection.connect({ address });
  const log = createLog('kennel', config.LOG_LEVEL);
  for (const [harness, path] of loginsOf(config.FETCH_KENNEL_LOGINS)) log.warn({ harness, path }, loginWarning(harness));
  const kennel = openKennel(config);
  const gate = createGate({ db: store.db, settings: config, log });
  const host = config.FETCH_KENNEL_HOST;
  const draining = new AbortController();
  const deps: KennelDeps = { db: store.db, temporal, config, kennel, gate, host, draining: draining.signal };
  const onHost = { ...deps, workspacesFolder: workspacesFolder(config) };
  const worker = await Worker.create({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: kennelQueue(host),
    activities: {
      act: createAct(onHost),
      preview: createPreview(onHost),
      runRoutineStep: createRoutineActivities(onHost).runRoutineStep,
      ...createTaskActivities(deps),
    },
    ...workerTimings(config),
    // following is waiting: what a host can hold is bounded by its places for containers
    maxConcurrentActivityTaskExecutions: 200,
  });
  const stopTending = tendHost({ ...deps, log });
  const running = runToEnd(worker);
  role.onStop(async () => {
    stopTending();
    draining.abort();
    await Promise.all([drained([worker], [running]), gate.drain(graceMs(config))]);
    await gate.closeAll();
    await connection.close();
    await close();
  });
  role.ready(kennelQueue(host));
  await running;
}
