import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { isAlive, type ProcessIdentity, startTimeOf } from '../../instance/home/process-identity.ts';

/**
 * A worker remembers its conversations, and Temporal offers their next workflow tasks to it alone, in a sticky queue of
 * its own. Nobody else takes them before `stickyQueueScheduleToStartTimeout`, so with a short time-out a worker that is
 * only busy loses its conversations, and with a long one those of a killed worker stand still. Here the time-out is
 * long, and a worker that starts gives back what waits for a dead one of the same home.
 */
interface StickyQueues {
  /** Learns the names of this worker's queues, which only a history shows. */
  interceptors: ActivityInterceptorsFactory[];
  /** After a stop in order, which ends the queues itself. */
  forget(): Promise<void>;
}

const { TaskQueueKind, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;
const STICKY = TaskQueueKind.TASK_QUEUE_KIND_STICKY;

/** As the SDK names a worker; the names of its sticky queues begin with it. */
const IDENTITY = `${process.pid}@${hostname()}`;
type WorkflowExecution = { workflowId: string; runId: string };

/** The shortest poll that the server takes; it answers one that finds nothing a second before its end. */
const POLL_MS = 2_200;
/** How long after an activity its workflow is looked at. */
const LOOK_MS = 100;
/** A conversation has a few events between two workflow tasks. */
const NEWEST_EVENTS = 20;

interface Queue {
  name: string;
  normalName: string;
}
interface Kept {
  process: ProcessIdentity;
  queues: Queue[];
}

/** @param folder of the home, with one file for each worker process */
export async function stickyQueues(temporal: Client, namespace: string, folder: string): Promise<StickyQueues> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${process.pid}.json`);
  const dead = await takeDead(folder);
  void Promise.all(dead.map((queue) => giveBack(temporal, namespace, queue).catch(() => undefined)));
  const self = { pid: process.pid, startTime: (await startTimeOf(process.pid)) ?? '' };
  const queues: Queue[] = [];

  const learned = new Set<string>();
  const learn = async (execution: WorkflowExecution, taskQueue: string): Promise<void> => {
    const found = await queueIn(temporal, namespace, execution);
    if (!found || dead.some(({ name }) => name === found.name)) return;
    learned.add(taskQueue);
    if (queues.some(({ name }) => name === found.name)) return;
    queues.push(found);
    write(file, { process: self, queues });
  };
  return {
    interceptors: [
      ({ info: { workflowExecution, taskQueue } }) => ({
        inbound: {
          async execute(input, next) {
            try {
              return await next(input);
            } finally {
              // what comes after it is the first that such a queue offers
              if (workflowExecution && !learned.has(taskQueue))
                setTimeout(() => void learn(workflowExecution, taskQueue).catch(() => undefined), LOOK_MS).unref();
            }
          },
        },
      }),
    ],
    forget: async () => await rm(file, { force: true }),
  };
}

/** Renamed into place: a worker that is killed meanwhile leaves no half of it. */
function write(file: string, kept: Kept): void {
  writeFileSync(`${file}.new`, JSON.stringify(kept));
  renameSync(`${file}.new`, file);
}

/** Their files go with them: what cannot be given back now is free after the time-out. */
async function takeDead(folder: string): Promise<Queue[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  const found = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      // a power cut, or the release before, may leave a file that is empty: no worker could start beside it
      const kept = await readFile(file, 'utf8')
        .then((text) => JSON.parse(text) as Kept)
        .catch(() => null);
      if (kept && (await isAlive(kept.process))) return [];
      await rm(file, { force: true });
      return kept?.queues ?? [];
    }),
  );
  return found.flat();
}

/** Fails each workflow task that waits, so that it is offered to every worker, and tells the server that nobody asks. */
async function giveBack(
  { workflowService: service, connection }: Client,
  namespace: string,
  queue: Queue,
): Promise<void> {
  const identity = IDENTITY;
  const cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE;
  try {
    for (;;) {
      const { taskToken, query } = await connection.withDeadline(Date.now() + POLL_MS, () =>
        service.pollWorkflowTaskQueue({ namespace, identity, taskQueue: { ...queue, kind: STICKY } }),
      );
      if (!taskToken?.length) break;
      // whoever asks such a question asks again
      if (!query) await service.respondWorkflowTaskFailed({ namespace, identity, taskToken, cause });
    }
  } finally {
    await service.shutdownWorker({ namespace, identity, stickyTaskQueue: queue.name, reason: 'it was killed' });
  }
}

async function queueIn(
  { workflowService: service }: Client,
  namespace: string,
  { workflowId, runId }: WorkflowExecution,
): Promise<Queue | undefined> {
  const { history } = await service.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: NEWEST_EVENTS,
  });
  for (const { workflowTaskScheduledEventAttributes: scheduled } of history?.events ?? []) {
    const { kind, name, normalName } = scheduled?.taskQueue ?? {};
    if (kind === STICKY && name?.startsWith(`${IDENTITY}-`) && normalName) return { name, normalName };
  }
  return undefined;
}
