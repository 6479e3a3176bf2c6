import type { WorkerDeploymentOptions } from '@temporalio/worker';
import { DEPLOYMENT, type Deployment } from '../../../../temporal/deployment.ts';
import { compareVersions } from '../../../../temporal/version.ts';

/**
 * The first server on which a pinned run was seen to learn that another build is current, and to continue as new on it.
 */
const UPGRADES_ON_CONTINUE = '1.32.0';

/**
 * How a worker takes part where builds run side by side. Tasks and routines stay on the build that began them
 * (`src/workflows/versioned.ts`). A conversation never ends: between two turns it continues as new on the current
 * build, so that no turn meets two builds. A server that cannot tell it of the other build would keep it on the old one
 * for ever; there it goes on with the current build from its next step on.
 */
export const workerDeployment = (buildId: string, serverVersion: string): WorkerDeploymentOptions => ({
  version: { deploymentName: DEPLOYMENT, buildId },
  useWorkerVersioning: true,
  defaultVersioningBehavior: compareVersions(serverVersion, UPGRADES_ON_CONTINUE) >= 0 ? 'PINNED' : 'AUTO_UPGRADE',
});

/** Why a worker that is about to ask for work will get none; null when it will. */
export function idleReason(buildId: string | undefined, { builds }: Deployment): string | null {
  const current = builds.find((build) => build.role === 'current');
  if (buildId === undefined)
    return current
      ? `Build ${current.id} is current, so a worker without a build gets no workflows. Set FETCH_BUILD_ID for this one, or end versioned deployments: fetch deploy off`
      : null;
  const own = builds.find((build) => build.id === buildId);
  if (own && own.role !== 'old') return null;
  return `Build ${buildId} is not current, so this worker gets only runs that it began earlier. Give it the work: fetch deploy current ${buildId}`;
}
