import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { installedService } from '../background/find-service.ts';
import type { Service } from '../background/service.ts';
import { endProcess, isAlive, type ProcessIdentity, waitUntilGone } from '../instance/process-identity.ts';
import { claimHome, HeldError, homeHolder } from '../instance/start-lock.ts';
import { endLeftovers, readRunState, removeRunState } from '../instance/state-file.ts';

/** For the supervisor's own end, and for one that is so early in its start that it has no roles. */
const OWN_MS = 5_000;
/** What is under way is told about when it takes longer than this. */
const TELL_MS = 2_000;

export interface StopOptions {
  /** wait for nothing that is under way */
  now?: boolean;
  /** the same, said later */
  hurried?: AbortSignal;
}

/** `fetch stop`: ends the supervisor, which ends its roles in order once their work has ended; what is left of a killed one is ended too. */
export async function run(config: Config, options: StopOptions = {}): Promise<void> {
  const home = config.FETCH_HOME;
  const supervisor = await runningSupervisor(home);
  const service = await askToEnd(home, supervisor);
  if (supervisor) await waitForEnd(home, supervisor, options);
  const ended = await cleanUp(home);
  if (supervisor) process.stdout.write(`Stopped (${home}). Every conversation goes on where it is at the next start.\n`);
  else if (service) process.stdout.write(`Stopped the service ${service.name}, which could not start Fetch and tried again and again.\n`);
  else process.stdout.write(ended.length > 0 ? `Ended what a killed start had left running: ${ended.join(', ')}.\n` : `Nothing runs for ${home}.\n`);
}

/** Where a service manager runs it, that one is asked: it would start again what ends otherwise. Returns the service that was asked. */
async function askToEnd(home: string, supervisor: ProcessIdentity | null): Promise<Service | null> {
  const service = installedService(home);
  const { pid, state } = (await service?.state()) ?? { pid: null, state: 'stopped' };
  if (service && state !== 'stopped' && (supervisor === null || pid === supervisor.pid)) {
    try {
      await service.stop();
      return service;
    } catch {
      // the manager cannot be reached from here; an end in order is not followed by another start
    }
  }
  if (supervisor) terminate(supervisor.pid);
  return null;
}

async function waitForEnd(home: string, supervisor: ProcessIdentity, { now, hurried }: StopOptions): Promise<void> {
  const limitMs = (readRunState(home)?.stopMs ?? 0) + OWN_MS;
  const hurry = () => terminate(supervisor.pid);
  // the second word: nothing is waited for any more
  hurried?.addEventListener('abort', hurry, { once: true });
  if (now) {
    await pause(100);
    hurry();
  } else if (!(await waitUntilGone(supervisor, TELL_MS))) {
    process.stdout.write('Waiting for what is under way to end (at most FETCH_STOP_SECONDS). End it at once: fetch stop --now\n');
  }
  if (!(await waitUntilGone(supervisor, limitMs))) await endProcess(supervisor, { signal: 'SIGKILL' });
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPERM') throw new Error(`Process ${pid} belongs to another user. Run fetch stop as that user.`);
    // it ended in this moment
    if (code !== 'ESRCH') throw error;
  }
}

/** The one that has its roles on record, or one that is so early in its start that nothing is. */
async function runningSupervisor(home: string): Promise<ProcessIdentity | null> {
  const state = readRunState(home);
  if (state && (await isAlive(state.supervisor))) return state.supervisor;
  return await homeHolder(home);
}

/** With the home claimed: a start that begins in this moment must not lose the roles that it has just put on record. */
async function cleanUp(home: string): Promise<string[]> {
  if (!readRunState(home)) return [];
  let claim: { release(): void } | null = null;
  try {
    claim = await claimHome(home);
  } catch (error) {
    if (error instanceof HeldError) return [];
    // a home that cannot be written, a full disk say, must not keep what runs from being ended
  }
  const ended = await endLeftovers(home);
  removeRunState(home);
  claim?.release();
  return ended;
}
