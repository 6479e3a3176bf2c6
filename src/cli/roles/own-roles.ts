import type { Config } from '../../config.ts';
import type { OwnRole } from '../instance/state-file.ts';
import { openConnections } from './connect.ts';
import { watchSettings } from './live-settings.ts';
import { prepareServers } from './prepare.ts';
import type { RoleContext } from './role-context.ts';
import { type Role, roleProcess } from './role-process.ts';
import { graceMs, installRuntime } from './temporal-runtime.ts';

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
/** Each further role of a process adds so many to what the hungriest needs: they are seldom busy all at once. A connection takes 2 MB of the server. */
const FURTHER_CONNECTIONS = 2;

/** How a supervisor starts them: before the servers, so that their code is loaded while these come up. */
export interface Supervision {
  /** waits for its word before anything is connected */
  supervised?: boolean;
  /** prepares the servers, for the other processes as well */
  prepare?: boolean;
}

/** Runs roles in this process, until a signal or the end of the supervisor stops them. Rejects when one of them cannot go on: it takes the others along. */
export async function runRoles(config: Config, names: readonly OwnRole[], { supervised, prepare }: Supervision = {}): Promise<void> {
  const host = roleProcess(graceMs(config));
  const loaded = await Promise.all(names.map(async (name) => ({ name, run: (await ROLES[name].load()).run })));
  if (supervised) await host.released();
  if (prepare) await prepareFirst(config, host.role('prepare'));
  installRuntime(config);
  const { close, ...connections } = await openConnections(config, {
    application: `fetch-${names.join('-')}`,
    max: Math.max(...names.map((name) => ROLES[name].databaseConnections)) + FURTHER_CONNECTIONS * (names.length - 1),
  });
  host.afterStop(close);
  const unwatch = watchSettings(config);
  host.afterStop(async () => unwatch());
  await Promise.all(loaded.map(({ name, run }) => run({ config, role: host.role(name), alone: names.length === 1, ...connections })));
}

async function prepareFirst(config: Config, { ready, failed }: Role): Promise<void> {
  try {
    const { warnings } = await prepareServers(config);
    for (const warning of warnings) process.stderr.write(`${warning}\n`);
    ready(warnings.join('\n'));
  } catch (error) {
    await failed(error);
  }
}
