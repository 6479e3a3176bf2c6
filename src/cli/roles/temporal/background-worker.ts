import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import type { Config } from '../../../config.ts';
import { BACKGROUND_QUEUE } from '../../../contracts/ids.ts';
import { queueStats } from '../../instance/connections/queue-stats.ts';
import { drained, runToEnd } from './temporal-runtime.ts';

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
export function backgroundWorker(
  temporal: Client,
  config: Config,
  common: Omit<WorkerOptions, 'taskQueue'>,
): Background {
  const stop = new AbortController();
  const begin = async (): Promise<Worker | null> => {
    if (config.FETCH_BUILD_ID === undefined) await firstRun(temporal, config.TEMPORAL_NAMESPACE, stop.signal);
    if (stop.signal.aborted) return null;
    return await Worker.create({
      ...common,
      taskQueue: BACKGROUND_QUEUE,
      maxConcurrentActivityTaskExecutions: 20,
      // with two, a person waits at most twice as long beside 500 runs (docs/performance.md)
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
