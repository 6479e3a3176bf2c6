import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { deploymentOf } from '../../../temporal/deployment.ts';
import { createRoutineActivities } from '../../activities/routine/routine.ts';
import { createTaskRecords } from '../../activities/task/task-records.ts';
import { createAct } from '../../activities/turn/act.ts';
import { createThink } from '../../activities/turn/think.ts';
import { createRecordActivities } from '../../activities/turn/turn-records.ts';
import { openModel } from '../../adapters/model/open-model.ts';
import type { Config } from '../../config.ts';
import { AGENT_QUEUE } from '../../contracts/ids.ts';
import { createLog } from '../../log.ts';
import { openRole } from './connect.ts';
import { roleProcess } from './role-process.ts';
import { drained, graceMs, installRuntime, runToEnd, workerTimings } from './temporal-runtime.ts';
import { idleReason, workerDeployment } from './worker-versioning.ts';
import { cachedWorkflowBundle } from './workflow-bundle.ts';

/** The role that runs workflows, model steps and worker-side tools. Any number of them may run, on any machines. */
export async function run(config: Config): Promise<void> {
  const role = roleProcess(graceMs(config));
  installRuntime(config);
  const [{ store, temporal, endpoint, close }, model, workflowBundle] = await Promise.all([
    openRole(config, 'fetch-worker', 20),
    openModel(config),
    cachedWorkflowBundle(join(config.FETCH_HOME, 'cache'), config.FETCH_BUILD_ID === undefined ? 'unversioned' : 'versioned'),
  ]);
  const deps = { db: store.db, temporal, config, model, log: createLog('worker', config.LOG_LEVEL) };
  const connection = await NativeConnection.connect(endpoint);
  const worker = await Worker.create({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: AGENT_QUEUE,
    workflowBundle,
    activities: {
      think: createThink(deps),
      act: createAct(deps),
      ...createRecordActivities(deps),
      ...createRoutineActivities(deps),
      ...createTaskRecords(deps),
    },
    ...workerTimings(config),
    maxConcurrentActivityTaskExecutions: 100,
    // below the number of active chats everything stalls (measured), so well above it
    maxCachedWorkflows: 1000,
    ...(config.FETCH_BUILD_ID !== undefined && (await versioned(temporal, config.FETCH_BUILD_ID))),
  });
  const running = runToEnd(worker);
  role.onStop(async () => {
    await drained([worker], [running]);
    await Promise.all([model.close(), connection.close(), close()]);
  });
  role.ready(`${AGENT_QUEUE} (${model.kind}: ${model.name})`);
  await warnWhenIdle(temporal, config);
  await running;
}

async function versioned(temporal: Client, buildId: string): Promise<Pick<WorkerOptions, 'workerDeploymentOptions'>> {
  const { serverVersion } = await temporal.workflowService.getSystemInfo({});
  return { workerDeploymentOptions: workerDeployment(buildId, serverVersion ?? '') };
}

/** Temporal reports no error where no build is current, or another one: such a worker would wait in silence. */
async function warnWhenIdle(temporal: Client, config: Config): Promise<void> {
  const log = createLog('worker', config.LOG_LEVEL);
  const found = await deploymentOf({ temporal, taskQueue: AGENT_QUEUE })
    .read()
    .catch((error: Error) => void log.debug({ error: error.message }, 'this server says nothing of deployments'));
  const reason = found ? idleReason(config.FETCH_BUILD_ID, found) : null;
  if (reason) log.warn(reason);
}
