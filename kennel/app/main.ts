import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { offerPort } from './tunnels.ts';

/**
 * Runs an app until it ends, with its exit code, and offers the port that it listens on to the host. Arguments: the
 * socket of the host, the port (0: the first one that the app opens), then the command of the app.
 */
const [socket, port, program, ...args] = process.argv.slice(2) as [string, string, string, ...string[]];

const app = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
app.on('error', (error) => {
  console.error(error.message);
  process.exit(127);
});
app.on('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => app.kill(signal));

offerPort(socket, Number(port));
