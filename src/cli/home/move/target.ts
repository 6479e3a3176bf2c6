import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { placeOf } from '../../../adapters/moved-workspaces.ts';
import { listScheduled } from '../../../adapters/schedules.ts';
import type { Config } from '../../../config.ts';
import { AGENT_QUEUE, BACKGROUND_QUEUE } from '../../../contracts/ids.ts';
import { readTarget } from '../../../store/home/move/figures.ts';
import { openStore } from '../../../store/postgres/database.ts';
import { schemaState } from '../../../store/schema/migrations.ts';
import { directProblem } from '../../instance/connections/problems.ts';
import { connectTemporal } from '../../roles/connect.ts';
import type { Manifest } from './package.ts';

/** Servers of an installation, as marks and reports name them. */
export function serversOf({ DATABASE_URL, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE }: Config): string {
  const { host, pathname } = new URL(DATABASE_URL!);
  return `${host}${pathname} and ${TEMPORAL_ADDRESS}/${TEMPORAL_NAMESPACE}`;
}

export const directUrl = (config: Config): string => config.DATABASE_DIRECT_URL ?? config.DATABASE_URL!;
export const workspacesOfConfig = ({ FETCH_HOME, FETCH_WORKSPACES }: Config): string =>
  FETCH_WORKSPACES ?? join(FETCH_HOME, 'workspaces');

export interface TargetReport {
  /** this home was moved here before */
  imported: boolean;
  /** runs and schedules that Temporal has */
  running: number;
  /** why it cannot be moved here now, each with what to do */
  problems: string[];
}

/** Whether a home can be moved to the servers of these settings. It only looks. */
export async function lookAtTarget(
  config: Config,
  manifest: Manifest,
  { replace }: { replace: boolean },
): Promise<TargetReport> {
  const store = await openStore(directUrl(config), { max: 1, application: 'fetch-move', migrate: false }).catch(
    async (error) => {
      throw await directProblem(config, error);
    },
  );
  const { temporal, close } = await connectTemporal(config);
  try {
    const { missing, newer } = await schemaState(store.db as never);
    const state =
      missing.length > 0 ? { used: false, imported: false, working: [] } : await readTarget(store.db, manifest.home);
    const running = await runningIn(temporal, config.TEMPORAL_NAMESPACE);
    const problems = state.working.map(
      (name) => `${name} works here. Stop every role first (docker compose stop worker gateway api kennel).`,
    );
    if (newer.length > 0)
      problems.push(`The database has tables of a newer release (${newer.at(-1)}). Install that release here first.`);
    if (!state.imported || replace) {
      if (state.used && !replace)
        problems.push(
          'The database has chats already. Name an empty one in DATABASE_URL, or delete what is there with --replace.',
        );
      if (running > 0 && !replace)
        problems.push(
          `The namespace ${config.TEMPORAL_NAMESPACE} of the Temporal server has ${running} runs or schedules. Name another one in TEMPORAL_NAMESPACE, or end them with --replace.`,
        );
      problems.push(...(await problemsOfHome(config, manifest)));
    }
    return { imported: state.imported, running, problems };
  } finally {
    await Promise.all([store.close(), close()]);
  }
}

/** gRPC status code */
const NOT_FOUND = 5;

/** Runs and schedules of Fetch in the namespace; none where it does not exist yet. */
async function runningIn(temporal: Client, namespace: string): Promise<number> {
  try {
    await temporal.workflowService.describeNamespace({ namespace });
  } catch (error) {
    if ((error as { code?: number }).code === NOT_FOUND) return 0;
    throw error;
  }
  const query = `ExecutionStatus = 'Running' AND TaskQueue IN ('${AGENT_QUEUE}', '${BACKGROUND_QUEUE}')`;
  const [{ count }, schedules] = await Promise.all([temporal.workflow.count(query), listScheduled(temporal)]);
  return count + schedules.size;
}

async function problemsOfHome(config: Config, { figures, workspaces }: Manifest): Promise<string[]> {
  const problems: string[] = [];
  const host = config.FETCH_KENNEL_HOST;
  if (figures.hosts.length > 0 && !figures.hosts.includes(host))
    problems.push(
      `The workspaces of the home belong to the kennel host ${figures.hosts.join(', ')}, and the one here is called ${host}. Set FETCH_KENNEL_HOST=${figures.hosts[0]} for the kennel that gets them, and for this command.`,
    );
  for (const each of workspaces)
    if ((await placeOf(workspacesOfConfig(config), each)) === 'taken')
      problems.push(
        `There is another workspace ${each.name} in ${workspacesOfConfig(config)}. Move it away or rename it.`,
      );
  if (figures.whatsapp && config.FETCH_ENCRYPTION_KEY !== undefined)
    problems.push(
      'FETCH_ENCRYPTION_KEY is set here. Unset it: the key of the home moves with it, as FETCH_HOME/encryption-key.',
    );
  return problems;
}
