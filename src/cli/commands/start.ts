import type { Config } from '../../config.ts';
import { keepNightly } from '../backup/nightly.ts';
import { ensureHome } from '../instance/home.ts';
import { claimOrExplain, type Instance, startInstance } from '../instance/instance.ts';
import { logReporter } from '../instance/progress.ts';
import { ownLog, rotateOwnLog } from '../instance/role-log.ts';
import type { RoleStatus } from '../instance/state-file.ts';

/** `fetch start`: on a terminal, a chat with an instance in the background; elsewhere, a service that logs JSON lines. */
export async function run(config: Config, reload: () => Config, flags: Record<string, string>): Promise<void> {
  // closing a terminal window closes its streams (main.ts handles the output)
  process.stdin.on('error', () => {});
  if (process.stdin.isTTY && process.stdout.isTTY) {
    await (await import('../background/terminal.ts')).run({ config, reload, flags });
  } else {
    ensureHome(config.FETCH_HOME);
    // for the life of this process, and before anything is stopped
    await claimOrExplain(config.FETCH_HOME);
    await asService(config);
  }
  // the channel to a parent and an open terminal would keep a finished process alive
  process.exit();
}

async function asService(config: Config): Promise<void> {
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
    logDestination(1),
  );
  const ending = onEnd();
  const onChange = (role: RoleStatus) => {
    const { name, pid, state, restarts, address, lastError } = role;
    if (state === 'restarting') log.error({ role: name, state, restarts, error: lastError }, `${name} died or could not start; trying again`);
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
  log.info({ urls: instance.urls, home: config.FETCH_HOME }, 'ready');
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

/** Settles at the first reason to stop: a signal, or the end of the parent process. `again`: what the next signal does. */
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
