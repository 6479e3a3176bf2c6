import { Command, type CommandOptions, Option } from 'commander';
import { type Config, loadConfig, printWarnings } from '../../config.ts';
import { VERSION, withTypedCommands } from '../../installation.ts';

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

/** A text for a terminal, with commands in the form that works here. */
export const typed = (text: string): string =>
  withTypedCommands(
    text,
    program.commands.map((each) => each.name()),
  );

/** Commands whose output is all our own sentences; the others print words of people, logs, or a protocol. */
const HINTING = new Set([
  ...['setup', 'up', 'stop', 'status', 'ps', 'doctor', 'open', 'ui', 'pair', 'unpair', 'config', 'tools', 'mcp'],
  ...['kennel', 'deploy', 'payload-keys', 'backup', 'restore', 'import', 'export-home', 'import-home', 'forget'],
]);

function typeHints(self: Command): void {
  const top = self.parent === program || !self.parent ? self : self.parent;
  if (!HINTING.has(top.name()) || self.opts().json) return;
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = (chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === 'string' ? typed(chunk) : chunk, ...rest);
  }
}

export const program = new Command('fetch')
  .description(
    'Text your computer. It works on your code for hours, asks when it needs you, and never loses its place.',
  )
  .version(VERSION, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  // the group of `help`: every other command names its own
  .commandsGroup('Every day:')
  .helpCommand('help [command]', 'Print the help of a command')
  .showHelpAfterError('(fetch --help shows what there is)')
  .exitOverride()
  .configureOutput({
    writeOut: (text) => void process.stdout.write(typed(text)),
    writeErr: (text) => void process.stderr.write(typed(text)),
  })
  .addHelpText(
    'after',
    '\nExample:\n  fetch start              everything on this machine, with a chat in this terminal\n  fetch up                 the same in the background\n  fetch chat               another terminal on the same conversation\n',
  );

const withFlags: Command[] = [];

/** Call it when every command has its own options: the help shows options in the order in which they were added. */
export function addSettingFlags(): void {
  for (const made of withFlags)
    for (const [flag, , text] of settingFlags)
      made.addOption(new Option(flag, text).helpGroup('Settings of this run:'));
}

/** The groups of `fetch --help`, and the commands of each, in their order. */
const GROUPS: ReadonlyArray<[heading: string, names: readonly string[]]> = [
  ['First:', ['start', 'chat', 'open', 'status', 'stop']],
  ['Every day:', ['up', 'ps', 'logs', 'doctor', 'ui']],
  ['Sessions of agents:', ['hand-over', 'take', 'give']],
  ['Set up:', ['setup', 'config', 'pair', 'unpair', 'tools', 'mcp', 'memory', 'kennel']],
  ['Keep, move, delete:', ['backup', 'restore', 'import', 'export-home', 'import-home', 'forget']],
  ['Prove:', ['receipt', 'audit']],
  ['Other programs:', ['serve', 'acp', 'mcp-server']],
  ['A server:', ['prepare', 'worker', 'gateway', 'api', 'kennel-worker', 'roles', 'deploy', 'payload-keys']],
];

/** Puts the commands of `fetch --help` into groups. */
export function groupCommands(): void {
  const order = GROUPS.flatMap(([, names]) => names);
  for (const [heading, names] of GROUPS)
    for (const each of program.commands) if (names.includes(each.name())) each.helpGroup(heading);
  (program.commands as Command[]).sort((one, other) => order.indexOf(one.name()) - order.indexOf(other.name()));
}

/** The program that a supervisor starts. */
const supervisedCommands = new Set(['worker', 'gateway', 'api', 'kennel-worker', 'roles']);
/** What people start. */
const startingCommands = new Set(['start', 'up', ...supervisedCommands]);

/** A command with the setting flags, an example in its help, and its configuration parsed before it runs. */
export const command = (
  name: string,
  description: string,
  example: string,
  run: (command: Command, args: string[]) => Runner,
  parent = program,
): Command =>
  commandWithFlags(
    name,
    description,
    example,
    async (self, args, flags) => {
      const reload = () => loadConfig(flags);
      const config = reload();
      // a role of a supervisor inherits what its supervisor has said already; any other command may have a parent too,
      // which only brings Node 24
      if (!(process.send && supervisedCommands.has(name))) printWarnings(config, startingCommands.has(name));
      await run(self, args)(config, reload, flags);
    },
    parent,
  );

/** The same, before the configuration is parsed: for what repairs it. */
export function commandWithFlags(
  name: string,
  description: string,
  example: string,
  run: (command: Command, args: string[], flags: Record<string, string>) => Promise<unknown>,
  parent = program,
  options: CommandOptions = {},
): Command {
  const made = parent
    .command(name, options)
    .description(description)
    .exitOverride()
    .addHelpText('after', `\nExample:\n  ${example}\n`);
  withFlags.push(made);
  made.action(async (...received: unknown[]) => {
    const self = received.at(-1) as Command;
    const flags: Record<string, string> = {};
    for (const [flag, setting] of settingFlags) {
      const value = self.opts<Record<string, string>>()[attributeOf(flag)];
      if (value !== undefined) flags[setting] = value;
    }
    typeHints(self);
    await run(self, self.args, flags);
  });
  return made;
}
