import { confirm } from '@clack/prompts';
import { keepSettings } from '../../../adapters/env-file.ts';
import { settingsElsewhere } from '../../../config.ts';
import { typedCommand } from '../../../installation.ts';
import { personReporter } from '../../instance/progress.ts';
import { isCancel } from '../questions.ts';
import { type Call, ensureUp } from './background.ts';
import { howItRuns, howText, installedService, launchOf, serviceOf, withoutManager } from './find-service.ts';
import type { Service } from './service.ts';

export interface UpOptions {
  atLogin?: boolean;
  notAtLogin?: boolean;
}

/** `fetch up`: an instance that keeps running when this terminal is closed. Returns when it serves. */
export async function run(call: Call, options: UpOptions): Promise<void> {
  const home = call.config.FETCH_HOME;
  if (options.notAtLogin) return void (await removeService(home));
  const service = options.atLogin ? serviceOf(home) : null;
  if (options.atLogin && !service) throw withoutManager(call.config);
  const report = personReporter();
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => ending.abort(new Error('Stopped while starting.')));
  // the instance needs no terminal
  process.once('SIGHUP', () => process.exit());
  if (service) await install(service, call);
  const { state, began } = await ensureUp(call, report, ending.signal);
  const how = await howItRuns(home);
  say(
    `Fetch ${began ? 'runs' : 'runs already'} (process ${state.supervisor.pid}) ${howText(how)}.${how.log ? ` Log: ${how.log}` : ''}`,
  );
  if (service && how.by !== 'service')
    say('The running instance keeps running. To let the service take over at once: fetch stop, then fetch up.');
  if (service && how.bound) say(`! ${how.bound.text}.${how.bound.mend ? ` To change that: ${how.bound.mend}` : ''}`);
  say(
    `Your page: ${state.urls.runtime} (${typedCommand('open')})  Chat: ${typedCommand('chat')}  Look: ${typedCommand('status')}, ${typedCommand('logs')}  End: ${typedCommand('stop')}`,
  );
  // an open terminal would keep a finished process alive
  process.exit();
}

async function install(service: Service, call: Call): Promise<void> {
  await offerToKeep(call);
  const { ensureHome } = await import('../../instance/home/home.ts');
  ensureHome(call.config.FETCH_HOME);
  await service.install(launchOf(call.config));
  say(`Installed ${service.file}`);
}

/** A service has only the settings of FETCH_HOME/.env, so those of this shell would be missing. */
async function offerToKeep({ config, flags }: Call): Promise<void> {
  const elsewhere = settingsElsewhere(flags);
  const names = Object.keys(elsewhere);
  if (names.length === 0) return;
  const file = `${config.FETCH_HOME}/.env`;
  const question = `${names.join(', ')}: known to this shell only, which a service does not see.`;
  if (!process.stdin.isTTY || !process.stdout.isTTY) return say(`! ${question} Write what it needs to ${file}`);
  const answer = await confirm({ message: `${question} Write ${names.length === 1 ? 'it' : 'them'} to ${file}?` });
  if (!isCancel(answer) && answer) keepSettings(config.FETCH_HOME, elsewhere);
}

async function removeService(home: string): Promise<void> {
  const service = installedService(home);
  if (!service) return say(`No service is installed for ${home}.`);
  await service.remove();
  const { by } = await howItRuns(home);
  say(
    `Removed ${service.file}: Fetch is not started at log-in any more.${by ? ' What runs now goes on until "fetch stop".' : ''}`,
  );
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
