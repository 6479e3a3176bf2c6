import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { ensureHome } from './home.ts';
import { claimOrExplain, type Instance, startInstance } from './instance.ts';
import { logReporter, terminalReporter } from './progress.ts';
import type { RoleStatus } from './state-file.ts';
import { ensureToken } from './tokens.ts';

/** `fetch start`: an open chat on a terminal, a service that logs JSON lines without one. Ends with everything stopped. */
export async function run(config: Config, reload: () => Config): Promise<void> {
  ensureHome(config.FETCH_HOME);
  // a terminal window that is closed takes its streams along (main.ts sees to the output): the roles are still to be stopped
  process.stdin.on('error', () => {});
  // for the life of this process, and before anything is asked or ended
  await claimOrExplain(config.FETCH_HOME);
  await (process.stdin.isTTY && process.stdout.isTTY ? withTerminal(config, reload) : asService(config));
  // the channel to a parent and an open terminal would hold a process that has nothing left to do
  process.exit();
}

async function withTerminal(first: Config, reload: () => Config): Promise<void> {
  let config = first;
  if (!existsSync(join(config.FETCH_HOME, '.env'))) {
    await (await import('./setup.ts')).firstStart(config);
    config = reload();
  }
  const report = terminalReporter();
  const ending = onEnd();
  let chatting = false;
  const instance = await startInstance(config, report, {
    signal: ending.signal,
    // once the chat has the screen, deaths and restarts are in `fetch status` and in the logs
    onChange: (role) => {
      if (!chatting && role.state === 'restarting') report.warn(`${role.name} could not start, trying again: ${role.lastError}`);
    },
  });
  report.done(`Ready. Runtime API ${instance.urls.runtime}${instance.urls.temporalUi ? `, Temporal Web UI ${instance.urls.temporalUi}` : ''}`);
  chatting = true;
  try {
    const [{ chat }, { offerPairing }, { whatsappClient }] = await Promise.all([import('./chat.ts'), import('./pair.ts'), import('./whatsapp-client.ts')]);
    const account = whatsappClient({ statusUrl: instance.urls.status, adminToken: ensureToken(config.FETCH_HOME, 'admin-token', config.ADMIN_TOKEN) });
    const offer = (print: (text: string) => void, signal: AbortSignal) => offerPairing(account, print, signal);
    await Promise.race([chat({ baseUrl: instance.urls.runtime, token: instance.runtimeToken, home: config.FETCH_HOME, offer }), ending.ended]);
  } finally {
    process.stdout.write('Stopping; every conversation goes on where it is at the next start. Ctrl-C again to wait for nothing that is under way.\n');
    ending.again(instance.hurry);
    await instance.stop();
  }
}

async function asService(config: Config): Promise<void> {
  const [{ pino }, { logDestination }] = await Promise.all([import('pino'), import('../log.ts')]);
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
    instance = await startInstance(config, logReporter(log), { onChange, signal: ending.signal });
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    log.info('stopped while starting');
    return;
  }
  log.info({ urls: instance.urls, home: config.FETCH_HOME }, 'ready');
  const why = await ending.ended;
  log.info(`stopping: ${why}`);
  ending.again(() => {
    log.warn('stopping at once: asked again');
    instance.hurry();
  });
  await instance.stop();
  log.info('stopped');
}

/** Settles at the first thing that asks the whole to end: a signal, or the end of the process that carries this one. `again`: what the next signal does. */
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
