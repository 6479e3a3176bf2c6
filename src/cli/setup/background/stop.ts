import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../../config.ts';
import { endProcess, isAlive, type ProcessIdentity, waitUntilGone } from '../../instance/home/process-identity.ts';
import { claimHome, HeldError, homeHolder } from '../../instance/home/start-lock.ts';
import { endLeftovers, readRunState, removeRunState } from '../../instance/home/state-file.ts';
import { installedService } from './find-service.ts';
import type { Service } from './service.ts';

/** For the supervisor's own end, and for one that has no roles yet. */
const OWN_MS = 5_000;
/** Running work is mentioned when it takes longer than this. */
const TELL_MS = 2_000;

export interface StopOptions {
  /** do not wait for running work */
  now?: boolean;
  /** the same, requested later */
  hurried?: AbortSignal;
}

/**
 * `fetch stop`: stops the supervisor, which stops its roles in order once their work has ended. It also removes what a
 * killed supervisor left.
 */
export async function run(config: Config, options: StopOptions = {}): Promise<void> {
  const home = config.FETCH_HOME;
  const supervisor = await runningSupervisor(home);
  const service = await askToEnd(home, supervisor);
  if (supervisor) await waitForEnd(home, supervisor, options);
  const ended = await cleanUp(home);
  if (supervisor)
    process.stdout.write(`Stopped (${home}). Every conversation goes on where it is at the next start.\n`);
  else if (service)
    process.stdout.write(
      `Stopped the service ${service.name}, which could not start Fetch and tried again and again.\n`,
    );
  else
    process.stdout.write(
      ended.length > 0
        ? `Ended what a killed start had left running: ${ended.join(', ')}.\n`
        : `Nothing runs for ${home}.\n`,
    );
}

/**
 * If a service manager runs it, that one is asked, because it would restart it otherwise. Returns the service that was
 * asked.
 */
async function askToEnd(home: string, supervisor: ProcessIdentity | null): Promise<Service | null> {
  const service = installedService(home);
  const { pid, state } = (await service?.state()) ?? { pid: null, state: 'stopped' };
  if (service && state !== 'stopped' && (supervisor === null || pid === supervisor.pid)) {
    try {
      await service.stop();
      return service;
    } catch {
      // the manager cannot be reached from here; a clean end is not followed by a restart
    }
  }
  if (supervisor) terminate(supervisor.pid);
  return null;
}

async function waitForEnd(home: string, supervisor: ProcessIdentity, { now, hurried }: StopOptions): Promise<void> {
  const limitMs = (readRunState(home)?.stopMs ?? 0) + OWN_MS;
  const hurry = () => terminate(supervisor.pid);
  // the second request: nothing is waited for
  hurried?.addEventListener('abort', hurry, { once: true });
  if (now) {
    await pause(100);
    hurry();
  } else if (!(await waitUntilGone(supervisor, TELL_MS))) {
    process.stdout.write('Waiting for what is under way to end. End it at once: fetch stop --now\n');
  }
  if (!(await waitUntilGone(supervisor, limitMs))) await endProcess(supervisor, { signal: 'SIGKILL' });
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPERM') throw new Error(`Process ${pid} belongs to another user. Run fetch stop as that user.`);
    // it ended just now
    if (code !== 'ESRCH') throw error;
  }
}

/** The supervisor with recorded roles, or one that has recorded nothing yet. */
async function runningSupervisor(home: string): Promise<ProcessIdentity | null> {
  const state = readRunState(home);
  if (state && (await isAlive(state.supervisor))) return state.supervisor;
  return await homeHolder(home);
}

/** With the home claimed, so that a start at this moment does not lose the roles that it has just recorded. */
async function cleanUp(home: string): Promise<string[]> {
  if (!readRunState(home)) return [];
  let claim: { release(): void } | null = null;
  try {
    claim = await claimHome(home);
  } catch (error) {
    if (error instanceof HeldError) return [];
    // a home that cannot be written (a full disk) must not prevent the stop
  }
  const ended = await endLeftovers(home);
  removeRunState(home);
  claim?.release();
  return ended;
}
