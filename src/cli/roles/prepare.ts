import { prepareNamespace } from '../../../temporal/namespace.ts';
import type { Config } from '../../config.ts';
import { forgetPayloadKeys } from '../../store/home/payload-keys.ts';
import { openStore } from '../../store/postgres/database.ts';
import { directProblem, temporalProblem } from '../instance/connections/problems.ts';
import { temporalEndpoint } from '../instance/connections/servers.ts';
import { roleProcess } from '../instance/supervisor/role-process.ts';

/** `fetch prepare`: one step before the roles, for servers that run elsewhere. */
export async function run(config: Config): Promise<void> {
  const { server, warnings } = await prepareServers(config).catch(roleProcess().role('prepare').failed);
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  process.stdout.write(`Temporal ${server}, namespace ${config.TEMPORAL_NAMESPACE} and the tables are ready.\n`);
}

/** Namespace, search attributes and tables; does nothing where they are as they should be. */
export async function prepareServers(
  config: Config,
  { fresh = false } = {},
): Promise<{ server: string; warnings: string[] }> {
  if (!config.TEMPORAL_ADDRESS || !config.DATABASE_URL)
    throw new Error('TEMPORAL_ADDRESS and DATABASE_URL must be set: this command prepares servers that run elsewhere.');
  const [prepared] = await Promise.all([
    prepareNamespace(temporalEndpoint(config), config.TEMPORAL_NAMESPACE, {
      explain: (error) => temporalProblem(config, error),
    }),
    migrate(config, fresh),
  ]);
  return prepared;
}

async function migrate(config: Config, fresh: boolean): Promise<void> {
  try {
    const store = await openStore(config.DATABASE_DIRECT_URL ?? config.DATABASE_URL!, {
      max: 1,
      application: 'fetch-prepare',
    });
    if (fresh) await forgetPayloadKeys(store.db);
    await store.close();
  } catch (error) {
    throw await directProblem(config, error);
  }
}
