import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { AGENT_NAMES } from '../../kennel/agents/registry.ts';
import { type Config, ConfigError, configWarnings, loadConfig } from '../config.ts';
import { VERSION } from '../installation.ts';
import type { OwnRole } from './instance/state-file.ts';
import type { Supervision } from './roles/own-roles.ts';

/** The `fetch` command. Commands are imported when they run: `fetch status` must not load a workflow engine. */

/** Flags that stand for a setting of the same meaning. */
const settingFlags: ReadonlyArray<[flag: string, setting: string, description: string]> = [
  ['--home <folder>', 'FETCH_HOME', 'where state lives (default ~/.fetch)'],
  ['--host <address>', 'FETCH_HOST', 'address that the HTTP APIs bind to (default 127.0.0.1)'],
  ['--runtime-port <port>', 'FETCH_RUNTIME_PORT', 'runtime API (default 7878)'],
  ['--status-port <port>', 'FETCH_STATUS_PORT', 'status API (default 8765)'],
  ['--temporal-port <port>', 'FETCH_TEMPORAL_PORT', 'embedded Temporal server (default 7233)'],
  ['--temporal-ui-port <port>', 'FETCH_TEMPORAL_UI_PORT', 'Temporal Web UI (default 8233)'],
  ['--postgres-port <port>', 'FETCH_POSTGRES_PORT', 'embedded PostgreSQL (default 7432)'],
  ['--temporal-address <host:port>', 'TEMPORAL_ADDRESS', 'use this Temporal server and start none'],
  ['--database-url <url>', 'DATABASE_URL', 'use this PostgreSQL and start none'],
  ['--model <name>', 'AGENT_MODEL', 'model name'],
  ['--log-level <level>', 'LOG_LEVEL', 'trace, debug, info, warn, error or fatal'],
];
const attributeOf = (flag: string): string =>
  flag
    .split(' ')[0]!
    .slice(2)
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** `flags`: the settings that were given as flags. */
type Runner = (config: Config, reload: () => Config, flags: Record<string, string>) => Promise<unknown>;

const program = new Command('fetch')
  .description('Text your computer. It works on your code for hours, asks when it needs you, and never loses its place.')
  .version(VERSION, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .showHelpAfterError('(fetch --help shows what there is)')
  .exitOverride()
  .addHelpText(
    'after',
    '\nExample:\n  fetch start              everything on this machine, with a chat in this terminal\n  fetch up                 the same in the background\n  fetch chat               another terminal on the same conversation\n',
  );

/** What a supervisor starts. */
const supervisedCommands = new Set(['worker', 'gateway', 'api', 'kennel-worker', 'roles']);

/** A command with the setting flags, an example in its help, and its configuration parsed before it runs. */
function command(name: string, description: string, example: string, run: (command: Command, args: string[]) => Runner, parent = program): Command {
  const made = parent.command(name).description(description).exitOverride().addHelpText('after', `\nExample:\n  ${example}\n`);
  for (const [flag, , text] of settingFlags) made.option(flag, text);
  made.action(async (...received: unknown[]) => {
    const self = received.at(-1) as Command;
    const flags: Record<string, string> = {};
    for (const [flag, setting] of settingFlags) {
      const value = self.opts<Record<string, string>>()[attributeOf(flag)];
      if (value !== undefined) flags[setting] = value;
    }
    const reload = () => loadConfig(flags);
    const config = reload();
    // a role of a supervisor inherits what its supervisor has said already; any other command may have a parent too, which only brings Node 24
    if (!(process.send && supervisedCommands.has(name))) for (const warning of configWarnings(config.FETCH_HOME)) process.stderr.write(`Warning: ${warning}\n`);
    await run(self, self.args)(config, reload, flags);
  });
  return made;
}

/** A command that brings no servers of its own. */
const withServers = (name: string, description: string, run: (config: Config, args: string[], options: object) => Promise<unknown>, example = name) =>
  command(
    name,
    description,
    `TEMPORAL_ADDRESS=temporal:7233 DATABASE_URL=postgres://fetch:secret@db/fetch fetch ${example}`,
    (self, args) => async (config) => {
      const missing = [config.TEMPORAL_ADDRESS ? null : 'TEMPORAL_ADDRESS', config.DATABASE_URL ? null : 'DATABASE_URL'].filter(Boolean);
      if (missing.length > 0)
        throw new ConfigError(missing.map((setting) => `${setting}: must be set for a single role ("fetch start" runs everything with servers of its own)`));
      await run(config, args, self.opts());
    },
  );
const rolesIn = async (config: Config, names: readonly OwnRole[], options: Supervision = {}) =>
  (await import('./roles/own-roles.ts')).runRoles(config, names, options);

command(
  'start',
  'Run everything on this machine; on a terminal, with a chat',
  'fetch start --home ~/.fetch-work --runtime-port 7978',
  () => async (config, reload, flags) => (await import('./commands/start.ts')).run(config, reload, flags),
);
command(
  'up',
  'Run everything in the background, also after this terminal is closed',
  'fetch up --at-login',
  (self) => async (config, reload, flags) => (await import('./commands/up.ts')).run({ config, reload, flags }, self.opts()),
)
  .option('--at-login', 'from now on start it whenever this machine starts, or you log in: systemd, launchd')
  .addOption(new Option('--not-at-login', 'no longer; what runs now goes on').conflicts('atLogin'));
withServers('worker', 'Run one worker: workflows, model steps, tools', (config) => rolesIn(config, ['worker']));
withServers('gateway', 'Run the gateway: it receives and sends on the channels', (config) => rolesIn(config, ['gateway']));
withServers('api', 'Run the HTTP APIs', (config) => rolesIn(config, ['api']));
// `fetch kennel` is what people ask for images and containers with
withServers('kennel-worker', 'Run the host of workspaces and containers: coding tasks, commands', (config) => rolesIn(config, ['kennel']));
withServers(
  'roles',
  'Run several of these in one process, which takes less memory',
  (config, args, options) => rolesIn(config, [...new Set(args as OwnRole[])], options),
  'roles gateway api kennel',
)
  .addArgument(new Argument('<role...>', 'the roles').choices(['worker', 'gateway', 'api', 'kennel']))
  .addOption(new Option('--supervised', 'wait for the word of `fetch start`, which starts roles before the servers').hideHelp())
  .addOption(new Option('--prepare', 'prepare the servers first').hideHelp());
withServers('prepare', 'Prepare external servers once: namespace, search attributes, tables', async (config) =>
  (await import('./roles/prepare.ts')).run(config),
);
command('chat', 'Open a chat with a running instance', 'fetch chat --home ~/.fetch-work', () => async (config) => {
  await (await import('./commands/chat.ts')).run(config);
});
command('pair', 'Link WhatsApp: shows a QR to scan, or a code to type', 'fetch pair --phone +491701234567', (self) => async (config) => {
  await (await import('./commands/pair.ts')).run(config, self.opts());
})
  .option('--phone <number>', 'show a code to type on this phone, in place of a QR')
  .addOption(
    new Option(
      '--number <whose>',
      'shared: your own number, where it answers in the self chat and elsewhere only to the trigger; dedicated: a number of its own',
    ).choices(['shared', 'dedicated']),
  );
command('unpair', 'Log WhatsApp out', 'fetch unpair', () => async (config) => {
  await (await import('./commands/pair.ts')).unpair(config);
});
command('setup', 'Ask again which model, what to call you, and your time zone', 'fetch setup', () => async (config) => {
  if (!process.stdin.isTTY)
    throw new ProblemError(`fetch setup asks questions and needs a terminal. Without one, write the settings to ${config.FETCH_HOME}/.env`);
  await (await import('./setup/setup.ts')).setup(config);
});
command(
  'status',
  'Show the roles of this home; exit code 3 when nothing runs',
  'fetch status --json',
  (self) => async (config) => (await import('./commands/status.ts')).run(config, self.opts()),
).option('--json', 'print JSON');
command('logs', 'Show the log of one role, or of all in the order of time', 'fetch logs worker -f', (self, args) => async (config) => {
  await (await import('./commands/logs.ts')).run(config, args[0] as never, self.opts());
})
  .addArgument(new Argument('[role]', 'the role').choices(['fetch', 'temporal', 'postgres', 'worker', 'gateway', 'api', 'kennel', 'roles']))
  .option('-f, --follow', 'print new lines as they come')
  .option('--json', 'print JSON, one object a line')
  .option('-n, --lines <count>', 'how many lines to begin with', wholeNumber, 100);
command(
  'doctor',
  'Try every dependency; each finding comes with what mends it',
  'fetch doctor --json',
  (self) => async (config) => (await import('./commands/doctor.ts')).run(config, self.opts()),
).option('--json', 'print JSON');
const kennel = program.command('kennel').description('Look after the containers that coding tasks run in').exitOverride();
command(
  'build',
  'Build the images now, so that no task waits for them: what every task needs, and that of each named agent',
  'fetch kennel build claude codex',
  (self, args) => async (config) => (await import('./commands/kennel.ts')).build(config, args, self.opts()),
  kennel,
)
  .addArgument(new Argument('[agent...]', 'agents').choices([...AGENT_NAMES, 'all']))
  .option('--fresh', 'fetch the base image again and build every layer again, for updates of the system');
command(
  'doctor',
  'Try the Docker engine, the images, and a container; exit code 1 when coding tasks cannot run',
  'fetch kennel doctor --json',
  (self) => async (config) => (await import('./commands/kennel.ts')).doctor(config, self.opts()),
  kennel,
).option('--json', 'print JSON');
command(
  'ps',
  'List the containers of tasks',
  'fetch kennel ps --json',
  (self) => async (config) => (await import('./commands/kennel.ts')).ps(config, self.opts()),
  kennel,
).option('--json', 'print JSON');
const deploy = program.command('deploy').description('Say which build of the worker does the work, where several run side by side').exitOverride();
const deployment = (name: string, description: string, example: string, run: (config: Config, self: Command, args: string[]) => Promise<void>) =>
  command(name, description, example, (self, args) => (config) => run(config, self, args), deploy);
const deploying = () => import('./commands/deploy.ts');
deployment('status', 'Show every build: its workers, its open runs', 'fetch deploy status --json', async (config, self) =>
  (await deploying()).status(config, self.opts()),
).option('--json', 'print JSON');
deployment('current', 'Give new runs and all conversations to a build', 'fetch deploy current 0.2.0', async (config, _self, [build]) =>
  (await deploying()).current(config, build!),
).argument('<build>', 'FETCH_BUILD_ID of its workers');
deployment('ramp', 'Give a build a share of the new runs', 'fetch deploy ramp 0.2.0 10', async (config, _self, [build, percent]) =>
  (await deploying()).ramp(config, build!, Number(percent)),
)
  .argument('<build>', 'FETCH_BUILD_ID of its workers')
  .argument('<percent>', '0 to 100; 0 ends the ramp', percentage);
deployment(
  'drain',
  'Say whether the workers of an old build may be stopped; exit code 3 while they are needed',
  'fetch deploy drain 0.1.0',
  async (config, self, [build]) => {
    if (await (await deploying()).drain(config, build!, self.opts())) process.exitCode = 3;
  },
)
  .argument('<build>', 'FETCH_BUILD_ID of its workers')
  .option('--move', 'let the current build continue the runs that only this one may continue now');
deployment('rollback', 'Go back to an older build, whose workers must run', 'fetch deploy rollback 0.1.0', async (config, _self, [build]) =>
  (await deploying()).rollback(config, build!),
).argument('<build>', 'FETCH_BUILD_ID of its workers');
deployment('off', 'Let workers without a build do the work again', 'fetch deploy off', async (config) => (await deploying()).off(config));
deployment(
  'start-over',
  'Before an older release is started without builds: end the runs that it could not continue',
  'fetch deploy start-over',
  async (config) => (await deploying()).startOver(config),
);
command('ui', 'Show the link that lets a browser into the Temporal Web UI', 'fetch ui', () => async (config) => (await import('./commands/ui.ts')).run(config));
command(
  'stop',
  'Stop the instance of this home, once what is under way has ended',
  'fetch stop',
  (self) => async (config) => (await import('./commands/stop.ts')).run(config, self.opts()),
).option('--now', 'wait for nothing that is under way');

function percentage(value: string): number {
  const percent = Number(value);
  if (!(percent >= 0 && percent <= 100)) throw new InvalidArgumentError('The percentage must be a number from 0 to 100.');
  return percent;
}

function wholeNumber(value: string): number {
  if (!/^\d+$/.test(value)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(value);
}

/** A plain message for the person; anything that is not one of ours is a defect and shows its stack. */
class ProblemError extends Error {
  override readonly name = 'ProblemError';
}
const plain = new Set([
  'ProblemError',
  'HomeError',
  'PortError',
  'ProvisionError',
  'RunningError',
  'KennelUnavailable',
  'DeployError',
  'StartError',
  'ServiceError',
]);

const holdsRoles = new Set(['start', 'worker', 'gateway', 'api', 'kennel-worker', 'roles']);
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // the output of a service may lie on the disk that is full, a terminal may be gone: what cannot be said must not end what runs
    if (!['ENOSPC', 'EDQUOT', 'EIO', 'EPIPE'].includes(error.code ?? '')) throw error;
    // `fetch logs | head`: a command that only writes has nothing left to do
    if (error.code === 'EPIPE' && !holdsRoles.has(process.argv[2] ?? '')) process.exit(0);
  });
}

try {
  if (process.argv.length <= 2) program.help();
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
  const { name, message, stack } = error as Error;
  process.stderr.write(`${plain.has(name) || name === 'Error' ? message : (stack ?? message)}\n`);
  process.exit(1);
}
