import { Argument, CommanderError, InvalidArgumentError, Option } from 'commander';
import { UserError } from '../contracts/user-error.ts';
import { addAuditCommands } from './commands/audit.ts';
import { addBackupCommands, addMoveCommands } from './commands/backup.ts';
import { addConfigCommands } from './commands/config.ts';
import { addDeployCommands } from './commands/deploy.ts';
import { addHandOverCommands } from './commands/hand-over.ts';
import { addKennelCommands } from './commands/kennel.ts';
import { addMcpCommands } from './commands/mcp.ts';
import { addMemoryCommands } from './commands/memory.ts';
import { addPayloadKeyCommands } from './commands/payload-keys.ts';
import { addSettingFlags, command, groupCommands, program, typed } from './commands/program.ts';
import { addReceiptCommand } from './commands/receipt.ts';
import { addRoleCommands } from './commands/roles.ts';
import { addProtocolCommands, addServeCommands } from './commands/serve.ts';

/** The `fetch` command. Commands are imported when they run: `fetch status` must not load a workflow engine. */

command(
  'start',
  'Run everything on this machine; on a terminal, with a chat',
  'fetch start --home ~/.fetch-work --runtime-port 7978',
  () => async (config, reload, flags) => (await import('./setup/background/start.ts')).run(config, reload, flags),
);
command(
  'up',
  'Run everything in the background, also after this terminal is closed',
  'fetch up --at-login',
  (self) => async (config, reload, flags) =>
    (await import('./setup/background/up.ts')).run({ config, reload, flags }, self.opts()),
)
  .option('--at-login', 'Install a service that starts it with this machine or at login: systemd, launchd')
  .addOption(
    new Option('--not-at-login', 'Remove the service. The running instance keeps running').conflicts('atLogin'),
  );
addRoleCommands();
command('chat', 'Open a chat with a running instance', 'fetch chat --home ~/.fetch-work', () => async (config) => {
  await (await import('./setup/open-chat.ts')).run(config);
});
command(
  'pair',
  'Link WhatsApp: shows a QR to scan, or a code to type',
  'fetch pair --phone +491701234567',
  (self) => async (config) => {
    await (await import('./setup/whatsapp/pair.ts')).run(config, self.opts());
  },
)
  .option('--phone <number>', 'show a code to type on this phone, in place of a QR')
  .addOption(
    new Option(
      '--number <whose>',
      'shared: your own number, where it answers in the self chat and elsewhere only to the trigger; dedicated: a number of its own',
    ).choices(['shared', 'dedicated']),
  );
command('unpair', 'Log WhatsApp out', 'fetch unpair', () => async (config) => {
  await (await import('./setup/whatsapp/pair.ts')).unpair(config);
});
command('setup', 'Choose the model, your name and your time zone', 'fetch setup', () => async (config) => {
  if (!process.stdin.isTTY)
    throw new UserError(
      `fetch setup asks questions and needs a terminal. Without one, write the settings to ${config.FETCH_HOME}/.env`,
    );
  await (await import('./setup/setup.ts')).setup(config);
});
addConfigCommands();
command(
  'tools',
  'List your MCP servers, tools and skills, and which of them wait for your yes',
  'fetch tools',
  (self) => async (config) => {
    await (await import('./setup/tools.ts')).run(config, self.opts());
  },
).option('--json', 'print JSON');
command(
  'ps',
  'List chats, coding tasks and runs: what waits, failed, works or sleeps',
  'fetch ps --json',
  (self) => async (config) => (await import('./checks/ps.ts')).run(config, self.opts()),
)
  .option('--json', 'print JSON')
  .option('--seen', 'mark the failures that are listed as seen, so that they go')
  .option('-n, --lines <count>', 'how many lines', wholeNumber, 50);
command(
  'status',
  'Show the roles of this home; exit code 3 when nothing runs',
  'fetch status --json',
  (self) => async (config) => (await import('./checks/status.ts')).run(config, self.opts()),
).option('--json', 'print JSON');
command(
  'logs',
  'Show the log of one role, or of all in the order of time',
  'fetch logs worker -f',
  (self, args) => async (config) => {
    await (await import('./instance/logs/logs.ts')).run(config, args[0] as never, self.opts());
  },
)
  .addArgument(
    new Argument('[role]', 'the role').choices([
      'fetch',
      'temporal',
      'postgres',
      'worker',
      'gateway',
      'api',
      'kennel',
      'roles',
    ]),
  )
  .option('-f, --follow', 'print new lines as they come')
  .option('--json', 'print JSON, one object a line')
  .option('-n, --lines <count>', 'how many lines to begin with', wholeNumber, 100);
command(
  'doctor',
  'Check what Fetch needs, and say how to mend what is missing',
  'fetch doctor --json',
  (self) => async (config) => (await import('./checks/doctor.ts')).run(config, self.opts()),
).option('--json', 'print JSON');
command(
  'import',
  'Take over what an installation of Fetch 0.0.94 or of NanoClaw has: settings, chats, schedules, skills, folders; exit code 3 when something could not be read',
  'fetch import --from ~/fetch --dry-run',
  (self) => async (config) => {
    if (!(await (await import('./home/import/import.ts')).run(config, self.opts()))) process.exitCode = 3;
  },
)
  .requiredOption('--from <folder>', 'its folder')
  .option('--dry-run', 'show what would happen, and change nothing');
addKennelCommands();
addHandOverCommands();
addMcpCommands();
addProtocolCommands();
addMemoryCommands();
addDeployCommands();
addPayloadKeyCommands();
addAuditCommands();
addReceiptCommand();
addBackupCommands();
addMoveCommands();
command(
  'forget',
  'Delete a chat or a person; without --yes it only says what would be deleted',
  'fetch forget +491701234567',
  (self, [named]) =>
    async (config) =>
      (await import('./home/forget.ts')).run(config, named!, self.opts()),
)
  .argument('<chat|person>', 'id of a chat or of its thread, or an international phone number')
  .option('--yes', 'do it');
addServeCommands();
command(
  'ui',
  'Open the Temporal Web UI in the browser, logged in, with columns and views',
  'fetch ui --print',
  (self) => async (config) => (await import('./checks/web-ui.ts')).run(config, self.opts()),
).option('--print', 'only print the link');
command(
  'stop',
  'Stop the instance of this home when its current steps have ended',
  'fetch stop',
  (self) => async (config) => (await import('./setup/background/stop.ts')).run(config, self.opts()),
).option('--now', 'wait for nothing that is under way');

addSettingFlags();
groupCommands();

function wholeNumber(value: string): number {
  if (!/^\d+$/.test(value)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(value);
}

const holdsRoles = new Set(['start', 'serve', 'worker', 'gateway', 'api', 'kennel-worker', 'roles']);
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // the output of a service may lie on the disk that is full, a terminal may be gone: what cannot be said must not
    // end what runs
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
  const { name, message, stack } = error as Error;
  // the Error of another's library has a message for people, too; `McpError` is that of the MCP SDK
  const plain = error instanceof UserError || name === 'Error' || name === 'McpError';
  process.stderr.write(`${plain ? typed(message) : (stack ?? message)}\n`);
  process.exit(error instanceof UserError ? error.exitCode : 1);
}
