import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createAct } from '../activities/act.ts';
import { createRecordActivities } from '../activities/records.ts';
import { createRoutineActivities } from '../activities/routine.ts';
import { createTaskRecords } from '../activities/task/records.ts';
import { createThink } from '../activities/think.ts';
import { openModel } from '../adapters/model/open-model.ts';
import type { Config } from '../config.ts';
import { AGENT_QUEUE } from '../contracts/ids.ts';
import { openRole } from './connect.ts';
import { roleProcess } from './role-process.ts';
import { drained, graceMs, installRuntime, runToEnd, workerTimings } from './temporal-runtime.ts';
import { cachedWorkflowBundle } from './workflow-bundle.ts';

/** The role that runs workflows, model steps and worker-side tools. Any number of them may run, on any machines. */
export async function run(config: Config): Promise<void> {
  const role = roleProcess(graceMs(config));
  installRuntime(config);
  const [{ store, temporal, address, close }, model, workflowBundle] = await Promise.all([
    openRole(config, 'fetch-worker', 20),
    openModel(config),
    cachedWorkflowBundle(join(config.FETCH_HOME, 'cache')),
  ]);
  const deps = { db: store.db, temporal, config, model };
  const connection = await NativeConnection.connect({ address });
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
  });
  const running = runToEnd(worker);
  role.onStop(async () => {
    await drained([worker], [running]);
    await Promise.all([model.close(), connection.close(), close()]);
  });
  role.ready(`${AGENT_QUEUE} (${model.kind}: ${model.name})`);
  await running;
}
