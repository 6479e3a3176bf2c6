import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { WorkerDeployment } from '../../../temporal/deployment.ts';
import { watchServers } from '../../activities/extensions/watch.ts';
import { workerActivities } from '../../activities/queues.ts';
import { measured, openModel } from '../../adapters/model/endpoint/open-model.ts';
import type { Config } from '../../config.ts';
import { AGENT_QUEUE } from '../../contracts/ids.ts';
import { createLog } from '../../log.ts';
import { factsIn } from '../../store/turns/steps/model-facts.ts';
import type { RoleContext } from './process/role-context.ts';
import { activityTraces } from './temporal/activity-traces.ts';
import { backgroundWorker } from './temporal/background-worker.ts';
import { drained, runToEnd, workerTimings } from './temporal/temporal-runtime.ts';
import { idleReason, workerDeployment } from './temporal/worker-versioning.ts';
import { cachedWorkflowBundle } from './temporal/workflow-bundle.ts';

/** The role that runs workflows, model steps and worker-side tools. Any number of them may run, on any machines. */
export async function run({ config, role, store, temporal, native, converter }: RoleContext): Promise<void> {
  const [model, workflowBundle] = await Promise.all([
    openModel(config, factsIn(store.db)).then(measured),
    cachedWorkflowBundle(
      join(config.FETCH_HOME, 'cache'),
      config.FETCH_BUILD_ID === undefined ? 'unversioned' : 'versioned',
    ),
  ]);
  const deps = { db: store.db, temporal, config, model, log: createLog('worker', config.LOG_LEVEL) };
  const common: Omit<WorkerOptions, 'taskQueue'> = {
    connection: native,
    namespace: config.TEMPORAL_NAMESPACE,
    dataConverter: converter,
    workflowBundle,
    activities: await workerActivities(deps),
    ...workerTimings(config),
    ...activityTraces(store.db),
    ...(config.FETCH_BUILD_ID !== undefined && (await versioned(temporal, config.FETCH_BUILD_ID))),
  };
  const worker = await Worker.create({
    ...common,
    taskQueue: AGENT_QUEUE,
    maxConcurrentActivityTaskExecutions: 100,
    // one thread runs them: more at once only wait there, where no priority sorts them. Fewer cost turns per second
    // (measured)
    maxConcurrentWorkflowTaskExecutions: 8,
    // below the number of active chats everything stalls (measured), so well above it
    maxCachedWorkflows: 250,
  });
  const running = runToEnd(worker);
  const background = backgroundWorker(temporal, config, common);
  const stopWatching = watchServers(deps);
  role.onStop(async () => {
    stopWatching();
    await Promise.all([drained([worker], [running]), background.drain()]);
    await model.close();
  });
  role.ready(`${AGENT_QUEUE} (${model.kind}: ${model.name})`);
  await warnWhenIdle(temporal, config);
  await Promise.all([running, background.ended]);
}

async function versioned(temporal: Client, buildId: string): Promise<Pick<WorkerOptions, 'workerDeploymentOptions'>> {
  const { serverVersion } = await temporal.workflowService.getSystemInfo({});
  return { workerDeploymentOptions: workerDeployment(buildId, serverVersion ?? '') };
}

/** Temporal reports no error where no build is current, or another one: such a worker would wait in silence. */
async function warnWhenIdle(temporal: Client, config: Config): Promise<void> {
  const log = createLog('worker', config.LOG_LEVEL);
  const found = await new WorkerDeployment(temporal, AGENT_QUEUE)
    .read()
    .catch((error: Error) => void log.debug({ error: error.message }, 'this server says nothing of deployments'));
  const reason = found ? idleReason(config.FETCH_BUILD_ID, found) : null;
  if (reason) log.warn(reason);
}
