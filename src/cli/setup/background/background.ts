import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Config, childEnvironment } from '../../../config.ts';
import { ensureHome } from '../../instance/home/home.ts';
import { claimHome, HeldError } from '../../instance/home/start-lock.ts';
import { liveRunState, type RunState } from '../../instance/home/state-file.ts';
import { embeddedServer, freeTheWay } from '../../instance/instance.ts';
import { logFile } from '../../instance/logs/role-log.ts';
import type { Reporter } from '../../instance/progress.ts';
import { ownCommand } from '../../instance/supervisor/programs.ts';
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
  /** as it is after the questions of a first start */
  config: Config;
  /** this call has started it; otherwise it ran already, or another process was starting it */
  began: boolean;
  /** a service manager runs it, so that leaving a terminal does not end it */
  isService: boolean;
}

/**
 * Sees that this home has an instance that serves, and starts one in the background where it has none. On a first start
 * with a terminal it asks. Throws what a person is to read. When `signal` aborts, what this call has started is ended.
 */
export async function ensureUp(call: Call, report: Reporter, signal: AbortSignal): Promise<Up> {
  const home = call.config.FETCH_HOME;
  const service = installedService(home);
  // just after a log-in the service manager is starting it; a claim of ours would block that
  const isAtIt = service !== null && ['running', 'starting'].includes((await service.state()).state);
  const config = isAtIt ? null : await orAborted(signal, prepare(call, report));
  if (config === null)
    return {
      state: await untilServing({ home, report, signal, from: null }),
      config: call.config,
      began: false,
      isService: service !== null,
    };
  const from = logEnd(home);
  const launched = service ? await launchService(service) : launchProcess(config, call.flags);
  try {
    return {
      state: await untilServing({ home, report, signal, from, hasEnded: launched.hasEnded }),
      config,
      began: true,
      isService: service !== null,
    };
  } catch (error) {
    // a service manager would keep retrying what was just reported as failed
    if (signal.aborted || (await launched.hasEnded())) await launched.end();
    throw error;
  }
}

/** What happens before a start, with the home claimed; null when another process has it. */
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
    // from an older release, or after its claim was removed
    if (await liveRunState(home)) return null;
    // before any question, so that a person who must change a port need not answer twice
    await freeTheWay(config, report);
    const asked = await (await import('../setup.ts')).firstStart(config);
    // the only step that takes minutes, done while somebody watches
    if (!config.TEMPORAL_ADDRESS) report.done(`Temporal server ${(await embeddedServer(home, report)).server}`);
    return asked ? reload() : config;
  } finally {
    claim.release();
  }
}

interface Launched {
  hasEnded(): Promise<boolean> | boolean;
  /** resolves when the process is gone */
  end(): Promise<void>;
}

/** A process in its own session, so that no terminal ends it. */
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
      // the process itself is signalled, because it may not have claimed the home yet
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
