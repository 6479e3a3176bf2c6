import type { Config } from '../config.ts';
import { endProcess, isAlive, waitUntilGone } from './process-identity.ts';
import { endLeftovers, readRunState, removeRunState } from './state-file.ts';

/** Roles get 10 s; then a little for the supervisor's own end. */
const STOP_MS = 12_000;

/** `fetch stop`: ends the supervisor, which ends its roles in order; what is left of a killed one is ended too. */
export async function run(config: Config): Promise<void> {
  const home = config.FETCH_HOME;
  const state = readRunState(home);
  if (state && (await isAlive(state.supervisor))) {
    process.kill(state.supervisor.pid, 'SIGTERM');
    if (!(await waitUntilGone(state.supervisor, STOP_MS))) await endProcess(state.supervisor, { signal: 'SIGKILL' });
    await endLeftovers(home);
    removeRunState(home);
    process.stdout.write(`Stopped (${home}). Every conversation goes on where it is at the next start.\n`);
    return;
  }
  const ended = await endLeftovers(home);
  removeRunState(home);
  process.stdout.write(ended.length > 0 ? `Ended what a killed start had left running: ${ended.join(', ')}.\n` : `Nothing runs for ${home}.\n`);
}
