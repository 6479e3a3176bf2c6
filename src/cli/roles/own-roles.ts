import type { Config } from '../../config.ts';
import { appendAudit } from '../../store/home/audit-log.ts';
import { requireNotMoved } from '../instance/home/moved.ts';
import type { OwnRole } from '../instance/home/state-file.ts';
import { type Role, roleProcess } from '../instance/supervisor/role-process.ts';
import { openConnections } from './connect.ts';
import { collectBackups, collectProcess, collectStore } from './metrics/collect.ts';
import { openMetrics } from './metrics/endpoint.ts';
import { openTracing } from './metrics/tracing.ts';
import { prepareServers } from './prepare.ts';
import { type RoleState, tellHealth } from './process/health.ts';
import { watchSettings } from './process/live-settings.ts';
import type { RoleContext } from './process/role-context.ts';
import { graceMs, installRuntime } from './temporal/temporal-runtime.ts';

interface Loading {
  load: () => Promise<{ run(context: RoleContext): Promise<void> }>;
  databaseConnections: number;
}

/** A role is loaded when it runs: each brings libraries that the others never touch. */
const ROLES: Record<OwnRole, Loading> = {
  worker: { load: () => import('./worker.ts'), databaseConnections: 12 },
  gateway: { load: () => import('./gateway.ts'), databaseConnections: 8 },
  api: { load: () => import('./api.ts'), databaseConnections: 12 },
  kennel: { load: () => import('./kennel-worker.ts'), databaseConnections: 8 },
};
/**
 * Each further role of a process adds so many to what the hungriest needs: they are seldom busy all at once. A
 * connection takes 2 MB of the server.
 */
const FURTHER_CONNECTIONS = 2;

/** How a supervisor starts them: before the servers, so that their code is loaded while these come up. */
export interface Supervision {
  /** waits for its word before anything is connected */
  supervised?: boolean;
  /** prepares the servers, for the other processes as well */
  prepare?: boolean;
  /** the Temporal server has nothing yet, so nothing there needs an older key */
  fresh?: boolean;
}

/**
 * Runs roles in this process, until a signal or the end of the supervisor stops them. Rejects when one of them cannot
 * go on: it takes the others along.
 */
export async function runRoles(
  config: Config,
  names: readonly OwnRole[],
  { supervised, prepare, fresh = false }: Supervision = {},
): Promise<void> {
  requireNotMoved(config.FETCH_HOME);
  const host = roleProcess(graceMs(config));
  const loaded = await Promise.all(names.map(async (name) => ({ name, run: (await ROLES[name].load()).run })));
  if (supervised) await host.released();
  if (prepare) await prepareFirst(config, host.role('prepare'), fresh);
  const metrics = await openMetrics(config, names);
  const sendTraces = await openTracing(config, names);
  installRuntime(config, metrics?.sdkAddress);
  const { close, ...connections } = await openConnections(config, {
    application: `fetch-${names.join('-')}`,
    max: Math.max(...names.map((name) => ROLES[name].databaseConnections)) + FURTHER_CONNECTIONS * (names.length - 1),
  });
  host.afterStop(close);
  const unwatch = watchSettings(config, (names) => {
    // one role of an instance says it, the one that every instance has once
    if (names.length > 0 && loaded.some(({ name }) => name === 'api'))
      void appendAudit(connections.store.db, 'settings changed', null, { names }).catch(() => {});
  });
  host.afterStop(async () => unwatch());
  const states = new Map<OwnRole, RoleState>(names.map((name) => [name, 'starting']));
  const roles = loaded.map(({ name, run }) => ({
    run,
    role: noting(host.role(name), (state) => states.set(name, state)),
  }));
  if (metrics) {
    collectProcess(connections.store, states);
    if (names.includes('api')) {
      collectStore(config, connections.store, connections.temporal);
      collectBackups(config);
    }
    host.afterStop(() => metrics.close());
  }
  if (sendTraces) host.afterStop(sendTraces);
  if (config.FETCH_HEALTH_FILE) {
    const end = tellHealth(config.FETCH_HEALTH_FILE, states, connections);
    host.afterStop(async () => end());
  }
  await Promise.all(roles.map(({ run, role }) => run({ config, role, alone: names.length === 1, ...connections })));
}

/** A role of which something else is told how it stands, too. */
const noting = (role: Role, note: (state: RoleState) => void): Role => ({
  ...role,
  ready(address) {
    note('ready');
    role.ready(address);
  },
  waits(error) {
    note({ waits: error.message });
    role.waits(error);
  },
});

async function prepareFirst(config: Config, { ready, failed }: Role, fresh: boolean): Promise<void> {
  try {
    const { warnings } = await prepareServers(config, { fresh });
    for (const warning of warnings) process.stderr.write(`${warning}\n`);
    ready(warnings.join('\n'));
  } catch (error) {
    await failed(error);
  }
}
