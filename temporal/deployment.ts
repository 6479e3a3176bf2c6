import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

/**
 * Worker builds that run in parallel, as Temporal's Worker Deployments manage them. A worker with a build gets no work and reports no error until its build is
 * current. So a program that starts such workers must also call `setCurrent`.
 */

/** Name of the deployment, which all workers of the agent queue belong to. */
export const DEPLOYMENT = 'fetch';

export interface Build {
  id: string;
  role: 'current' | 'ramping' | 'old';
  /** workers of this build that polled recently */
  workers: number;
  /** open runs that only a worker of this build may continue */
  pinned: number;
  /** open runs whose last workflow task this build did */
  open: number;
}

export interface Deployment {
  builds: Build[];
  /** share of new runs that the ramping build gets */
  rampPercent: number;
  /** workers without a build */
  unversionedWorkers: number;
}

/** A person's request cannot be carried out; the message says what to do instead. */
export class DeployError extends Error {
  override readonly name = 'DeployError';
}

const NOT_FOUND = 5;
const WORKFLOW_QUEUE = 1;
const VERSIONED = 2;
/** A worker polls at least every minute; one that did not is gone. */
const WORKER_GONE_MS = 90_000;
const STARTING_MS = 5_000;

const isMissing = (error: unknown): boolean => (error as { code?: number }).code === NOT_FOUND;

export function deploymentOf({ temporal, taskQueue }: { temporal: Client; taskQueue: string }) {
  const { namespace } = temporal.options;
  const service = temporal.workflowService;
  const at = { namespace, deploymentName: DEPLOYMENT };

  /** Build ids of the workers that poll, one entry for each worker; null for a worker without a build. */
  async function askingForWork(): Promise<Array<string | null>> {
    const { pollers } = await service.describeTaskQueue({ namespace, taskQueue: { name: taskQueue }, taskQueueType: WORKFLOW_QUEUE });
    return (pollers ?? [])
      .filter(({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < WORKER_GONE_MS)
      .map(({ deploymentOptions: of }) => (of?.workerVersioningMode === VERSIONED && of.deploymentName === DEPLOYMENT ? (of.buildId ?? null) : null));
  }

  /** Whether a worker of this build polls. The server shows a new worker with a short delay. */
  async function asks(build: string | null): Promise<boolean> {
    for (const end = Date.now() + STARTING_MS; ; await pause(200)) {
      if ((await askingForWork()).includes(build)) return true;
      if (Date.now() > end) return false;
    }
  }

  const openOn = (build: string, also = ''): string => `ExecutionStatus = 'Running' AND TemporalWorkerDeploymentVersion = '${DEPLOYMENT}:${build}'${also}`;
  const pinnedTo = (build: string): string => openOn(build, ` AND TemporalWorkflowVersioningBehavior = 'Pinned'`);
  const count = async (query: string): Promise<number> => (await temporal.workflow.count(query)).count;

  async function read(): Promise<Deployment> {
    const [described, asking] = await Promise.all([
      service.describeWorkerDeployment(at).catch((error) => {
        if (isMissing(error)) return null;
        throw error;
      }),
      askingForWork(),
    ]);
    const info = described?.workerDeploymentInfo;
    const routing = info?.routingConfig;
    const builds = await Promise.all(
      (info?.versionSummaries ?? []).map(async ({ deploymentVersion }): Promise<Build> => {
        const id = deploymentVersion!.buildId!;
        const [pinned, open] = await Promise.all([count(pinnedTo(id)), count(openOn(id))]);
        const role = routing?.currentDeploymentVersion?.buildId === id ? 'current' : routing?.rampingDeploymentVersion?.buildId === id ? 'ramping' : 'old';
        return { id, role, workers: asking.filter((each) => each === id).length, pinned, open };
      }),
    );
    return { builds, rampPercent: routing?.rampingVersionPercentage ?? 0, unversionedWorkers: asking.filter((each) => each === null).length };
  }

  /** Refuses a build without workers: the server would accept it, and every run would stop without an error (seen on 1.29). */
  async function requireWorker(build: string): Promise<void> {
    if (await asks(build)) return;
    throw new DeployError(
      `No worker of build ${build} asks the queue "${taskQueue}" for work, so nothing would run. Start one first: FETCH_BUILD_ID=${build} fetch worker`,
    );
  }

  return {
    read,

    /** New runs and conversations use this build from now on; pinned runs stay on theirs. */
    async setCurrent(build: string): Promise<void> {
      await requireWorker(build);
      await service.setWorkerDeploymentCurrentVersion({ ...at, buildId: build, ignoreMissingTaskQueues: true });
    },

    /** A share of new runs, and the same share of conversations, uses this build. */
    async setRamp(build: string, percent: number): Promise<void> {
      await requireWorker(build);
      await service.setWorkerDeploymentRampingVersion({ ...at, buildId: build, percentage: percent, ignoreMissingTaskQueues: true });
    },

    /** Workers without a build get the work again. */
    async setUnversioned(): Promise<void> {
      if (!(await asks(null)))
        throw new DeployError(`No worker without a build asks the queue "${taskQueue}" for work, so nothing would run. Start one first: fetch worker`);
      await service.setWorkerDeploymentCurrentVersion({ ...at, buildId: '', ignoreMissingTaskQueues: true });
    },

    /** Pinned runs of a workflow type. */
    pinnedRuns: (build: string, type: string) => temporal.workflow.list({ query: `${pinnedTo(build)} AND WorkflowType = '${type}'` }),

    /** Moves the runs that are pinned to a build to the current one; returns how many. Only safe when their histories replay on the current code. */
    async move(build: string): Promise<number> {
      let moved = 0;
      for await (const { workflowId, runId } of temporal.workflow.list({ query: pinnedTo(build) })) {
        try {
          await service.updateWorkflowExecutionOptions({
            namespace,
            workflowExecution: { workflowId, runId },
            workflowExecutionOptions: { versioningOverride: { autoUpgrade: true } },
            updateMask: { paths: ['versioning_override'] },
          });
          moved += 1;
        } catch (error) {
          // it ended meanwhile
          if (!isMissing(error)) throw error;
        }
      }
      return moved;
    },
  };
}
