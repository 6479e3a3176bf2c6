import type { Config } from '../../config.ts';
import type { OwnRole } from '../instance/state-file.ts';
import { openConnections } from './connect.ts';
import type { RoleContext } from './role-context.ts';
import { roleProcess } from './role-process.ts';
import { graceMs, installRuntime } from './temporal-runtime.ts';

interface Loading {
  load: () => Promise<{ run(context: RoleContext): Promise<void> }>;
  databaseConnections: number;
}

/** A role is loaded when it runs: each brings libraries that the others never touch. */
const ROLES: Record<OwnRole, Loading> = {
  worker: { load: () => import('./worker.ts'), databaseConnections: 20 },
  gateway: { load: () => import('./gateway.ts'), databaseConnections: 12 },
  api: { load: () => import('./api.ts'), databaseConnections: 20 },
  kennel: { load: () => import('./kennel-worker.ts'), databaseConnections: 16 },
};
/** Each further role of a process adds so many to what the hungriest needs: they are seldom busy all at once. */
const FURTHER_CONNECTIONS = 4;

/** Runs roles in this process, until a signal or the end of the supervisor stops them. Rejects when one of them cannot go on: it takes the others along. */
export async function runRoles(config: Config, names: readonly OwnRole[]): Promise<void> {
  const host = roleProcess(graceMs(config));
  installRuntime(config);
  const { close, ...connections } = await openConnections(config, {
    application: `fetch-${names.join('-')}`,
    max: Math.max(...names.map((name) => ROLES[name].databaseConnections)) + FURTHER_CONNECTIONS * (names.length - 1),
  });
  host.afterStop(close);
  await Promise.all(
    names.map(async (name) => {
      const { run } = await ROLES[name].load();
      await run({ config, role: host.role(name), ...connections });
    }),
  );
}
