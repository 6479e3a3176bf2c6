import { Argument, Option } from 'commander';
import { type Config, ConfigError } from '../../config.ts';
import type { OwnRole } from '../instance/home/state-file.ts';
import type { Supervision } from '../roles/own-roles.ts';
import { command } from './program.ts';

/** Single roles, for many machines. */
export function addRoleCommands(): void {
  withServers('worker', 'Run one worker: workflows, model steps, tools', (config) => rolesIn(config, ['worker']));
  withServers('gateway', 'Run the gateway: it receives and sends on the channels', (config) =>
    rolesIn(config, ['gateway']),
  );
  withServers('api', 'Run the HTTP APIs', (config) => rolesIn(config, ['api']));
  // `fetch kennel` is what people ask for images and containers with
  withServers('kennel-worker', 'Run the host of workspaces and containers: coding tasks, commands', (config) =>
    rolesIn(config, ['kennel']),
  );
  withServers(
    'roles',
    'Run several of these in one process, which takes less memory',
    (config, args, options) => rolesIn(config, [...new Set(args as OwnRole[])], options),
    'roles gateway api kennel',
  )
    .addArgument(new Argument('<role...>', 'the roles').choices(['worker', 'gateway', 'api', 'kennel']))
    .addOption(
      new Option(
        '--supervised',
        'wait for the word of `fetch start`, which starts roles before the servers',
      ).hideHelp(),
    )
    .addOption(new Option('--prepare', 'prepare the servers first').hideHelp())
    .addOption(new Option('--fresh', 'the Temporal server has nothing yet').hideHelp());
  withServers('prepare', 'Prepare external servers once: namespace, search attributes, tables', async (config) =>
    (await import('../roles/prepare.ts')).run(config),
  );
}

/** A command that brings no servers of its own. */
const withServers = (
  name: string,
  description: string,
  run: (config: Config, args: string[], options: object) => Promise<unknown>,
  example = name,
) =>
  command(
    name,
    description,
    `TEMPORAL_ADDRESS=temporal:7233 DATABASE_URL=postgres://fetch:secret@db/fetch fetch ${example}`,
    (self, args) => async (config) => {
      const missing = [
        config.TEMPORAL_ADDRESS ? null : 'TEMPORAL_ADDRESS',
        config.DATABASE_URL ? null : 'DATABASE_URL',
      ].filter(Boolean);
      if (missing.length > 0)
        throw new ConfigError(
          missing.map(
            (setting) =>
              `${setting}: must be set for a single role ("fetch start" runs everything with servers of its own)`,
          ),
        );
      await run(config, args, self.opts());
    },
  );
const rolesIn = async (config: Config, names: readonly OwnRole[], options: Supervision = {}) =>
  (await import('../roles/own-roles.ts')).runRoles(config, names, options);
