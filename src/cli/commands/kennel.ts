import { Argument } from 'commander';
import { AGENT_NAMES } from '../../contracts/kennel.ts';
import { command, program } from './program.ts';

export function addKennelCommands(): void {
  const kennel = program
    .command('kennel')
    .description('Look after the containers that coding tasks run in')
    .exitOverride();
  command(
    'build',
    'Build the images now, so that nothing waits for them: what every task needs, and that of each named agent, or of the browser',
    'fetch kennel build claude codex',
    (self, args) => async (config) => (await import('../checks/kennel-images.ts')).build(config, args, self.opts()),
    kennel,
  )
    .addArgument(new Argument('[agent...]', 'agents').choices([...AGENT_NAMES, 'browser', 'all']))
    .option('--fresh', 'fetch the base image again and build every layer again, for updates of the system');
  command(
    'doctor',
    'Try the Docker engine, the images, and a container; exit code 1 when coding tasks cannot run',
    'fetch kennel doctor --json',
    (self) => async (config) => (await import('../checks/kennel-images.ts')).doctor(config, self.opts()),
    kennel,
  ).option('--json', 'print JSON');
  command(
    'ps',
    'List the containers of tasks',
    'fetch kennel ps --json',
    (self) => async (config) => (await import('../checks/kennel-images.ts')).ps(config, self.opts()),
    kennel,
  ).option('--json', 'print JSON');
  command(
    'environments',
    'List the images that were made for repositories, which go by themselves when nobody used them for two weeks, and setup scripts that you agreed to',
    'fetch kennel environments --prune',
    (self) => async (config) => (await import('../checks/kennel-images.ts')).environments(config, self.opts()),
    kennel,
  )
    .option('--revoke <workspace>', 'take the setup script of a workspace back')
    .option('--prune', 'remove all that no container uses now; they are built again when they are needed')
    .option('--json', 'print JSON');
  command(
    'forget-host',
    'Remove a host that is gone for good from the list; with tasks that wait for it, only with --yes, and their chats are told',
    'fetch kennel forget-host old-laptop',
    (self, [host]) =>
      async (config) =>
        (await import('../home/forget-host.ts')).run(config, host!, self.opts()),
    kennel,
  )
    .argument('<host>', 'its name, FETCH_KENNEL_HOST there')
    .option('--yes', 'the tasks that wait for it are lost');
}
