import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { UserError } from '../src/contracts/user-error.ts';

/**
 * Worker builds that run in parallel, as Temporal's Worker Deployments manage them. A worker with a build gets no work
 * and reports no error until its build is current. So a program that starts such workers must also call `setCurrent`.
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

const NOT_FOUND = 5;
const WORKFLOW_QUEUE = 1;
const VERSIONED = 2;
/** A worker polls at least every minute; one that did not is gone. */
const WORKER_GONE_MS = 90_000;
const STARTING_MS = 5_000;

const isMissing = (error: unknown): boolean => (error as { code?: number }).code === NOT_FOUND;

const openOn = (build: string): string =>
  `ExecutionStatus = 'Running' AND TemporalWorkerDeploymentVersion = '${DEPLOYMENT}:${build}'`;
const pinnedTo = (build: string): string => `${openOn(build)} AND TemporalWorkflowVersioningBehavior = 'Pinned'`;

export class WorkerDeployment {
  private readonly temporal: Client;
  private readonly taskQueue: string;
  private readonly at: { namespace: string; deploymentName: string };

  constructor(temporal: Client, taskQueue: string) {
    this.temporal = temporal;
    this.taskQueue = taskQueue;
    this.at = { namespace: temporal.options.namespace, deploymentName: DEPLOYMENT };
  }

  async read(): Promise<Deployment> {
    const [info, workers] = await Promise.all([this.describe(), this.workers()]);
    const {
      currentDeploymentVersion: current,
      rampingDeploymentVersion: ramping,
      rampingVersionPercentage,
    } = info?.routingConfig ?? {};
    const builds = await Promise.all(
      (info?.versionSummaries ?? []).map(async ({ deploymentVersion }): Promise<Build> => {
        const id = deploymentVersion!.buildId!;
        const [pinned, open] = await Promise.all([this.count(pinnedTo(id)), this.count(openOn(id))]);
        const role = current?.buildId === id ? 'current' : ramping?.buildId === id ? 'ramping' : 'old';
        return { id, role, workers: workers.filter((each) => each === id).length, pinned, open };
      }),
    );
    return {
      builds,
      rampPercent: rampingVersionPercentage ?? 0,
      unversionedWorkers: workers.filter((each) => each === null).length,
    };
  }

  /** New runs and conversations use this build from now on; pinned runs stay on theirs. */
  async setCurrent(build: string): Promise<void> {
    await this.requireWorker(build);
    await this.temporal.workflowService.setWorkerDeploymentCurrentVersion({
      ...this.at,
      buildId: build,
      ignoreMissingTaskQueues: true,
    });
  }

  /** A share of new runs, and the same share of conversations, uses this build. */
  async setRamp(build: string, percent: number): Promise<void> {
    await this.requireWorker(build);
    await this.temporal.workflowService.setWorkerDeploymentRampingVersion({
      ...this.at,
      buildId: build,
      percentage: percent,
      ignoreMissingTaskQueues: true,
    });
  }

  /** Workers without a build get the work again. */
  async setUnversioned(): Promise<void> {
    await this.requireWorker(null);
    await this.temporal.workflowService.setWorkerDeploymentCurrentVersion({
      ...this.at,
      buildId: '',
      ignoreMissingTaskQueues: true,
    });
  }

  /** Pinned runs of a workflow type. */
  pinnedRuns(build: string, type: string) {
    return this.temporal.workflow.list({ query: `${pinnedTo(build)} AND WorkflowType = '${type}'` });
  }

  /**
   * Moves the runs that are pinned to a build to the current one; returns how many. Only safe when their histories
   * replay on the current code.
   */
  async move(build: string): Promise<number> {
    let moved = 0;
    for await (const { workflowId, runId } of this.temporal.workflow.list({ query: pinnedTo(build) })) {
      try {
        await this.temporal.workflowService.updateWorkflowExecutionOptions({
          namespace: this.at.namespace,
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
  }

  /** Null before the first worker with a build. */
  private async describe() {
    const { workerDeployments, nextPageToken } = await this.temporal.workflowService.listWorkerDeployments({
      namespace: this.at.namespace,
    });
    // most have none, and an error would cost each start a tenth of a second: its stack is shown in lines of the
    // sources
    if (!nextPageToken?.length && !workerDeployments?.some(({ name }) => name === DEPLOYMENT)) return null;
    try {
      return (await this.temporal.workflowService.describeWorkerDeployment(this.at)).workerDeploymentInfo ?? null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** Build ids of the workers that poll, one entry for each worker; null for a worker without a build. */
  private async workers(): Promise<Array<string | null>> {
    const { pollers } = await this.temporal.workflowService.describeTaskQueue({
      namespace: this.at.namespace,
      taskQueue: { name: this.taskQueue },
      taskQueueType: WORKFLOW_QUEUE,
    });
    return (pollers ?? [])
      .filter(({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < WORKER_GONE_MS)
      .map(({ deploymentOptions: of }) =>
        of?.workerVersioningMode === VERSIONED && of.deploymentName === DEPLOYMENT ? (of.buildId ?? null) : null,
      );
  }

  private async count(query: string): Promise<number> {
    return (await this.temporal.workflow.count(query)).count;
  }

  /**
   * Refuses a build without workers: the server would accept it, and every run would stop without an error (seen on
   * 1.29). The server shows a new worker with a short delay. Null is a worker without a build.
   */
  private async requireWorker(build: string | null): Promise<void> {
    for (const end = Date.now() + STARTING_MS; ; await pause(200)) {
      if ((await this.workers()).includes(build)) return;
      if (Date.now() > end) break;
    }
    const [worker, command] =
      build === null
        ? ['worker without a build', 'fetch worker']
        : [`worker of build ${build}`, `FETCH_BUILD_ID=${build} fetch worker`];
    throw new UserError(
      `No ${worker} asks the queue "${this.taskQueue}" for work, so nothing would run. Start one first: ${command}`,
    );
  }
}
