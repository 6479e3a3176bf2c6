import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Config, childEnvironment } from '../../config.ts';
import { ensureHome } from '../instance/home.ts';
import { embeddedServer, freeTheWay } from '../instance/instance.ts';
import { ownCommand } from '../instance/programs.ts';
import type { Reporter } from '../instance/progress.ts';
import { logFile } from '../instance/role-log.ts';
import { claimHome, HeldError } from '../instance/start-lock.ts';
import { liveRunState, type RunState } from '../instance/state-file.ts';
import { installedService } from './find-service.ts';
import { logEnd, untilServing } from './follow-start.ts';
import type { Service } from './service.ts';

/** How a command was called. */
export interface Call {
  config: Config;
  reload: () => Config;
  /** settings that were given as flags */
  flags: Record<string, string>;
}

export interface Up {
  state: RunState;
  /** as it is after a first start has asked */
  config: Config;
  /** this call has started it; otherwise it ran, or somebody else was just starting it */
  began: boolean;
  /** a service manager runs it, so that no terminal's leaving ends it */
  isService: boolean;
}

/**
 * Sees that this home has an instance that serves, and starts one in the background where it has none. On a first start with a terminal
 * it asks. Throws what a person is to read. When `signal` aborts, what this call has started is ended.
 */
export async function ensureUp(call: Call, report: Reporter, signal: AbortSignal): Promise<Up> {
  const home = call.config.FETCH_HOME;
  const service = installedService(home);
  // just after a log-in its manager is at it: a claim of ours would be in its way
  const isAtIt = service !== null && ['running', 'starting'].includes((await service.state()).state);
  const config = isAtIt ? null : await orAborted(signal, prepare(call, report));
  if (config === null)
    return { state: await untilServing({ home, report, signal, from: null }), config: call.config, began: false, isService: service !== null };
  const from = logEnd(home);
  const launched = service ? await launchService(service) : launchProcess(config, call.flags);
  try {
    return { state: await untilServing({ home, report, signal, from, hasEnded: launched.hasEnded }), config, began: true, isService: service !== null };
  } catch (error) {
    // a manager would try again and again what has just been told as failed
    if (signal.aborted || (await launched.hasEnded())) await launched.end();
    throw error;
  }
}

/** What is done before anything is started, with the home claimed; null when another process has it. */
async function prepare({ config, reload }: Call, report: Reporter): Promise<Config | null> {
  const home = config.FETCH_HOME;
  ensureHome(home);
  let claim: { release(): void };
  try {
    claim = await claimHome(home);
  } catch (error) {
    if (error instanceof HeldError) return null;
    throw error;
  }
  try {
    // of one that was started by an older release, or whose claim was removed
    if (await liveRunState(home)) return null;
    // before anything is asked: a person who has to change a port should not have to answer twice
    await freeTheWay(config, report);
    const asked = await (await import('../setup/setup.ts')).firstStart(config);
    // the one thing that takes minutes, while somebody looks
    if (!config.TEMPORAL_ADDRESS) report.done(`Temporal server ${(await embeddedServer(home, report)).server}`);
    return asked ? reload() : config;
  } finally {
    claim.release();
  }
}

interface Launched {
  hasEnded(): Promise<boolean> | boolean;
  /** resolves when it is gone */
  end(): Promise<void>;
}

/** A process of its own session, which no terminal takes along. */
function launchProcess(config: Config, flags: Record<string, string>): Launched {
  const { file, args, env } = ownCommand(['start'], childEnvironment({ ...flags, FETCH_HOME: config.FETCH_HOME }));
  const log = openSync(logFile(config.FETCH_HOME, 'fetch'), 'a', 0o600);
  const child = spawn(file, args, { env, detached: true, windowsHide: true, stdio: ['ignore', log, log] });
  closeSync(log);
  let over = false;
  const gone = new Promise<void>((resolve) => {
    for (const event of ['error', 'exit'] as const) {
      child.once(event, () => {
        over = true;
        resolve();
      });
    }
  });
  return {
    hasEnded: () => over,
    async end() {
      // by itself: it may not have claimed the home yet
      if (!over) child.kill('SIGTERM');
      await gone;
    },
  };
}

async function launchService(service: Service): Promise<Launched> {
  await service.start();
  const isOver = async () => ['failed', 'stopped'].includes((await service.state()).state);
  return {
    hasEnded: isOver,
    async end() {
      await service.stop();
      while ((await service.state()).state !== 'stopped') await pause(100);
    },
  };
}

async function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  return await Promise.race([work, aborted]);
}
