import { Command, type CommandOptions } from 'commander';
import { type Config, loadConfig, printWarnings } from '../../config.ts';
import { VERSION } from '../../installation.ts';

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

export const program = new Command('fetch')
  .description(
    'Text your computer. It works on your code for hours, asks when it needs you, and never loses its place.',
  )
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
  for (const [flag, , text] of settingFlags) made.option(flag, text);
  made.action(async (...received: unknown[]) => {
    const self = received.at(-1) as Command;
    const flags: Record<string, string> = {};
    for (const [flag, setting] of settingFlags) {
      const value = self.opts<Record<string, string>>()[attributeOf(flag)];
      if (value !== undefined) flags[setting] = value;
    }
    await run(self, self.args, flags);
  });
  return made;
}
