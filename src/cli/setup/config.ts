import { keepSettings } from '../../adapters/env-file.ts';
import {
  effectiveSettings,
  SettingError,
  type SettingName,
  type ShownSetting,
  settingNamed,
  settingProblem,
} from '../../adapters/settings-file.ts';
import { type Config, fetchHome, loadConfig, settings, sourcesOf } from '../../config.ts';
import { isLive } from '../../domain/settings/shapes.ts';
import { ensureHome } from '../instance/home/home.ts';
import { readStatus } from '../instance/status-report.ts';

type Flags = Record<string, string>;

/** `fetch config`: every setting as a start from here would have it. @throws ConfigError */
export function show(flags: Flags, options: { json?: boolean }): void {
  const shown = effectiveSettings(loadConfig(flags));
  if (options.json) return void process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
  const width = Math.max(...shown.map(({ name }) => name.length));
  const line = ({ name, value, source, live }: ShownSetting) =>
    `${live ? '*' : ' '} ${name.padEnd(width)}  ${source.padEnd(11)}  ${value ?? ''}`.trimEnd();
  process.stdout.write(
    `${shown.map(line).join('\n')}\n\n* changes while Fetch runs, a second after it was written; the others need a restart\n`,
  );
}

/**
 * `fetch config set NAME VALUE`. The file need not be right before, so that this command can repair it. @throws
 * SettingError
 */
export async function set(flags: Flags, name: string, value: string): Promise<void> {
  const known = settingNamed(name);
  const written = value.trim() === '' ? undefined : value;
  const problem = written === undefined ? null : settingProblem(known, written);
  if (problem) throw new SettingError(`${name}: ${problem}. Nothing was changed.`);
  const home = fetchHome(flags);
  ensureHome(home, 0);
  keepSettings(home, { [name]: written });
  say(`${written === undefined ? `${name} is removed from` : `${name} is written to`} ${home}/.env.`);
  for (const line of await effect(flags, known)) say(line);
}

/** The step that makes it take effect. */
async function effect(flags: Flags, name: SettingName): Promise<string[]> {
  let config: Config;
  try {
    config = loadConfig(flags);
  } catch (error) {
    return [`! ${(error as Error).message}`];
  }
  const source = sourcesOf(config)[name];
  if (source === 'flag' || source === 'environment')
    return [`! The ${source} sets ${name}, too, and wins over the file.`];
  const { running } = await readStatus(config);
  if (!running) return [];
  return [
    isLive(settings[name])
      ? 'What runs uses it within a second.'
      : 'It takes effect after a restart: fetch stop, then fetch up.',
  ];
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
