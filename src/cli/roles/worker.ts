import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { WorkerDeployment } from '../../../temporal/deployment.ts';
import { watchServers } from '../../activities/extensions/watch.ts';
import { workerActivities } from '../../activities/queues.ts';
import { followModel } from '../../adapters/model/endpoint/open-model.ts';
import type { Config } from '../../config.ts';
import { AGENT_QUEUE, BACKGROUND_QUEUE } from '../../contracts/ids.ts';
import { createLog } from '../../log.ts';
import { factsIn } from '../../store/turns/steps/model-facts.ts';
import { queueStats } from '../instance/connections/queue-stats.ts';
import type { RoleContext } from './process/role-context.ts';
import { activityTraces } from './temporal/activity-traces.ts';
import { stickyQueues } from './temporal/sticky-queues.ts';
import { drained, idleReason, runToEnd, workerDeployment, workerTimings } from './temporal/temporal-runtime.ts';
import { cachedWorkflowBundle } from './temporal/workflow-bundle.ts';

/** The role that runs workflows, model steps and worker-side tools. Any number of them may run, on any machines. */
export async function run({ config, role, store, temporal, native, converter }: RoleContext): Promise<void> {
  const [current, workflowBundle] = await Promise.all([
    followModel(config, factsIn(store.db)),
    cachedWorkflowBundle(
      join(config.FETCH_HOME, 'cache'),
      config.FETCH_BUILD_ID === undefined ? 'unversioned' : 'versioned',
    ),
  ]);
  const sticky = await stickyQueues(temporal, config.TEMPORAL_NAMESPACE, join(config.FETCH_HOME, 'cache', 'workers'));
  const deps = {
    db: store.db,
    temporal,
    config,
    get model() {
      return current.model;
    },
    log: createLog('worker', config.LOG_LEVEL),
  };
  const common: Omit<WorkerOptions, 'taskQueue'> = {
    connection: native,
    namespace: config.TEMPORAL_NAMESPACE,
    dataConverter: converter,
    workflowBundle,
    activities: await workerActivities(deps),
    ...workerTimings(config),
    interceptors: { activity: [...activityTraces(store.db), ...sticky.interceptors] },
    ...(config.FETCH_BUILD_ID !== undefined && (await versioned(temporal, config.FETCH_BUILD_ID))),
  };
  const worker = await Worker.create({
    ...common,
    taskQueue: AGENT_QUEUE,
    maxConcurrentActivityTaskExecutions: 100,
    // one thread runs them: more at once only wait there, where no priority sorts them. Fewer cost turns per second
    // (measured)
    maxConcurrentWorkflowTaskExecutions: 8,
    // the first turn of a chat comes by the normal queue: with the SDK's fifth of the polls it waits twice as long
    nonStickyToStickyPollRatio: 0.5,
    // below the number of active chats everything stalls (measured), so well above it
    maxCachedWorkflows: 250,
  });
  const running = runToEnd(worker);
  const background = backgroundWorker(temporal, config, common);
  const stopWatching = watchServers(deps);
  role.onStop(async () => {
    stopWatching();
    await Promise.all([drained([worker], [running]), background.drain()]);
    await sticky.forget();
    await current.close();
  });
  role.ready(`${AGENT_QUEUE} (${current.model.kind}: ${current.model.name})`);
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

/** How soon the first routine run is seen. */
const LOOK_MS = 2_000;

interface Background {
  /** when it has been drained; rejects when it fails */
  ended: Promise<void>;
  /** Stops it once what it does is done. */
  drain(): Promise<void>;
}

/**
 * The part of a worker that takes up routine runs, beside the one for everything else. It begins when the first run
 * waits, because its thread of workflows takes some 20 MB, which many never need. One with a build begins at once:
 * Temporal sends a build nothing from a queue that it has never asked.
 */
function backgroundWorker(temporal: Client, config: Config, common: Omit<WorkerOptions, 'taskQueue'>): Background {
  const stop = new AbortController();
  const begin = async (): Promise<Worker | null> => {
    if (config.FETCH_BUILD_ID === undefined) await firstRun(temporal, config.TEMPORAL_NAMESPACE, stop.signal);
    if (stop.signal.aborted) return null;
    return await Worker.create({
      ...common,
      taskQueue: BACKGROUND_QUEUE,
      maxConcurrentActivityTaskExecutions: 20,
      // with two, a person waits at most twice as long beside 500 runs (docs/reliability.md)
      maxConcurrentWorkflowTaskExecutions: 2,
      maxCachedWorkflows: 50,
    });
  };
  const begun = begin();
  const ended = begun.then((worker) => worker && runToEnd(worker)).then(() => undefined);
  return {
    ended,
    async drain() {
      stop.abort();
      const worker = await begun;
      await drained(worker ? [worker] : [], [ended]);
    },
  };
}

async function firstRun(temporal: Client, namespace: string, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    // a server that is away is looked for by the other part, and said there
    const queues = await queueStats(temporal, namespace, [BACKGROUND_QUEUE]).catch(() => []);
    if (queues.some(({ backlog }) => backlog > 0)) return;
    await pause(LOOK_MS, undefined, { ref: false, signal: stop }).catch(() => undefined);
  }
}
