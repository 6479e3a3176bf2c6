import { type Config, fetchHome, loadConfig, type Source, settings, sourcesOf } from '../../config.ts';
import { LENIENT, membersOf } from '../../domain/setting-lists.ts';
import { isLive, isSecret, meantBy } from '../../domain/settings/shapes.ts';
import { nearest } from '../../domain/text/nearest.ts';
import { readStatus } from '../findings/status-report.ts';
import { ensureHome } from '../instance/home.ts';
import { keepSettings } from '../setup/env-file.ts';

/** A setting cannot be written; `message` is for the person. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

type Flags = Record<string, string>;
type Name = keyof typeof settings;

interface Shown {
  name: string;
  /** null: it has none */
  value: string | null;
  source: Source;
  live: boolean;
}

/** `fetch config`: every setting as a start from here would have it. @throws ConfigError */
export function show(flags: Flags, options: { json?: boolean }): void {
  const shown = effectiveSettings(loadConfig(flags));
  if (options.json) return void process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
  const width = Math.max(...shown.map(({ name }) => name.length));
  const line = ({ name, value, source, live }: Shown) => `${live ? '*' : ' '} ${name.padEnd(width)}  ${source.padEnd(11)}  ${value ?? ''}`.trimEnd();
  process.stdout.write(`${shown.map(line).join('\n')}\n\n* changes while Fetch runs, a second after it was written; the others need a restart\n`);
}

export function effectiveSettings(config: Config): Shown[] {
  const sources = sourcesOf(config);
  return (Object.keys(settings) as Name[]).map((name) => ({
    name,
    value: config[name] === undefined || config[name] === '' ? null : masked(name, String(config[name])),
    source: sources[name] ?? 'default',
    live: isLive(settings[name]),
  }));
}

/** A password in an address is a secret, too. */
const masked = (name: Name, value: string): string => (isSecret(settings[name]) ? '********' : value.replace(/(\/\/[^/@\s:,]*):[^/@\s,]*@/g, '$1:********@'));

/** `fetch config set NAME VALUE`. The file need not be right before, so that this command can repair it. @throws SettingError */
export async function set(flags: Flags, name: string, value: string): Promise<void> {
  const known = settingNamed(name);
  const written = value.trim() === '' ? undefined : value;
  const problem = written === undefined ? null : problemOf(known, written);
  if (problem) throw new SettingError(`${name}: ${problem}. Nothing was changed.`);
  const home = fetchHome(flags);
  ensureHome(home, 0);
  keepSettings(home, { [name]: written });
  say(`${written === undefined ? `${name} is removed from` : `${name} is written to`} ${home}/.env.`);
  for (const line of await effect(flags, known)) say(line);
}

function settingNamed(name: string): Name {
  if (name === 'FETCH_HOME') throw new SettingError('FETCH_HOME says where the file is, so it cannot be in it. Use --home, or set it in the environment.');
  if (Object.hasOwn(settings, name)) return name as Name;
  const [near] = nearest(name, Object.keys(settings));
  throw new SettingError(`${name} is no setting.${near ? ` Did you mean ${near}?` : ''} "fetch config" lists them.`);
}

function problemOf(name: Name, value: string): string | null {
  const parsed = settings[name].safeParse(value);
  if (!parsed.success) return parsed.error.issues.map(({ message }) => message).join('; ');
  const wrong = membersOf(LENIENT[name] ? value : '').flatMap((member) => {
    const found = LENIENT[name]!(member);
    return found ? [`${found.problem}${meantBy(found, member)}`] : [];
  });
  return wrong.length > 0 ? wrong.join('; ') : null;
}

/** What a person must do for it to take effect. */
async function effect(flags: Flags, name: Name): Promise<string[]> {
  let config: Config;
  try {
    config = loadConfig(flags);
  } catch (error) {
    return [`! ${(error as Error).message}`];
  }
  const source = sourcesOf(config)[name];
  if (source === 'flag' || source === 'environment') return [`! The ${source} sets ${name}, too, and wins over the file.`];
  const { running } = await readStatus(config);
  if (!running) return [];
  return [isLive(settings[name]) ? 'What runs uses it within a second.' : 'It takes effect after a restart: fetch stop, then fetch up.'];
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
