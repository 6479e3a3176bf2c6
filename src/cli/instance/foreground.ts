import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { PACKAGE_ROOT } from '../../installation.ts';
import type { RoleStatus, Urls } from './home/state-file.ts';
import { type Instance, startInstance } from './instance.ts';
import { ownLog, rotateOwnLog } from './logs/role-log.ts';
import { keepNightly } from './nightly-backup.ts';
import { logReporter } from './progress.ts';

/**
 * Runs an instance in this process until a signal; the caller has claimed the home. `fd`: where its log goes, as JSON
 * lines. `ready`: called once it serves.
 */
export async function inForeground(
  config: Config,
  fd: 1 | 2,
  ready: (serving: { log: Logger; urls: Urls }) => void,
): Promise<void> {
  const ownLogFile = ownLog(config.FETCH_HOME);
  if (ownLogFile) rotateOwnLog(ownLogFile);
  const [{ pino }, { logDestination }] = await Promise.all([import('pino'), import('../../log.ts')]);
  const log = pino(
    {
      level: config.LOG_LEVEL,
      base: undefined,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    logDestination(fd),
  );
  const ending = onEnd();
  const onChange = (role: RoleStatus) => {
    const { name, pid, state, restarts, address, lastError } = role;
    if (state === 'restarting')
      log.error({ role: name, state, restarts, error: lastError }, `${name} died or could not start; trying again`);
    else log.info({ role: name, state, pid, address }, `${name} is ${state}`);
  };
  let instance: Instance;
  try {
    instance = await startInstance(config, logReporter(log), { onChange, signal: ending.signal, log: ownLogFile });
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    log.info('stopped while starting');
    return;
  }
  ready({ log, urls: instance.urls });
  // what a start needed goes back to the machine
  await import(pathToFileURL(join(PACKAGE_ROOT, 'bin', 'idle-memory.js')).href);
  const endNightly = keepNightly(config, log);
  const why = await ending.ended;
  endNightly();
  log.info(`stopping: ${why}`);
  ending.again(() => {
    log.warn('stopping at once: asked again');
    instance.hurry();
  });
  await instance.stop();
  log.info('stopped');
}

/**
 * Settles at the first reason to stop: a signal, or the end of the parent process. `again`: what the next signal does.
 */
function onEnd(): { signal: AbortSignal; ended: Promise<string>; again(then: () => void): void } {
  const controller = new AbortController();
  const ended = new Promise<string>((resolve) => {
    const end = (why: string) => {
      controller.abort();
      resolve(why);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(signal));
    process.on('disconnect', () => end('its parent ended'));
  });
  return {
    signal: controller.signal,
    ended,
    again: (then) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, then);
    },
  };
}
