import { type Config, ConfigError, currentSources, type Reloaded, type Source, settings } from '../config.ts';
import { UserError } from '../contracts/user-error.ts';
import { isListed } from '../domain/settings/listed.ts';
import { problemOf } from '../domain/settings/problems.ts';
import { isLive, isSecret, LENIENT, meantBy, membersOf } from '../domain/settings/shapes.ts';
import { nearest } from '../domain/text/nearest.ts';
import { keepSettings } from './env-file.ts';

/** Settings as a person sees and changes them: `fetch config` and the owner's page. */

/** A setting cannot be written; `message` is for the person. */
export class SettingError extends UserError {
  override readonly name = 'SettingError';
}

export type SettingName = keyof typeof settings;

export interface ShownSetting {
  name: SettingName;
  /** null: it has none */
  value: string | null;
  source: Source;
  live: boolean;
}

/** The listed settings, and those besides that somebody has set. */
export function effectiveSettings(config: Config): ShownSetting[] {
  const sources = currentSources(config);
  return (Object.keys(settings) as SettingName[]).flatMap((name) => {
    const source = sources[name] ?? 'default';
    if (!isListed(name) && source === 'default') return [];
    return [{ name, value: shownValue(name, config[name]), source, live: isLive(settings[name]) }];
  });
}

/** Null for none; a secret is not shown, and a password in an address is a secret, too. */
export function shownValue(name: SettingName, value: unknown): string | null {
  if (value === undefined || value === '') return null;
  return isSecret(settings[name]) ? '********' : String(value).replace(/(\/\/[^/@\s:,]*):[^/@\s,]*@/g, '$1:********@');
}

/** @throws SettingError */
export function settingNamed(name: string): SettingName {
  if (name === 'FETCH_HOME')
    throw new SettingError(
      'FETCH_HOME says where the file is, so it cannot be in it. Use --home, or set it in the environment.',
    );
  if (Object.hasOwn(settings, name)) return name as SettingName;
  const [near] = nearest(name, Object.keys(settings).filter(isListed));
  throw new SettingError(`${name} is no setting.${near ? ` Did you mean ${near}?` : ''} "fetch config" lists them.`);
}

/** Why a setting cannot have this value; null when it can. */
export function settingProblem(name: SettingName, value: string): string | null {
  const parsed = settings[name].safeParse(value);
  if (!parsed.success) return problemOf(settings[name], value, parsed.error.issues);
  const wrong = membersOf(LENIENT[name] ? value : '').flatMap((member) => {
    const found = LENIENT[name]!(member);
    return found ? [`${found.problem}${meantBy(found, member)}`] : [];
  });
  return wrong.length > 0 ? wrong.join('; ') : null;
}

/**
 * Changes several settings in the file of a running instance, all of them or none; null or blank takes one out.
 * `reload` reads the file again.
 * @throws SettingError, which names each mistake
 */
export function changeSettings(
  config: Config,
  changes: Readonly<Record<string, string | null>>,
  reload: () => Reloaded,
): Reloaded {
  const sources = currentSources(config);
  const values: Record<string, string | undefined> = {};
  const problems: string[] = [];
  for (const [given, text] of Object.entries(changes)) {
    try {
      const name = settingNamed(given);
      values[name] = text === null || text.trim() === '' ? undefined : text;
      const source = sources[name];
      const problem = values[name] === undefined ? null : settingProblem(name, text!);
      if (problem) problems.push(`${name}: ${problem}`);
      else if (source === 'flag' || source === 'environment')
        problems.push(`${name}: the ${source} sets it, too, and wins over the file`);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new SettingError(`${problems.join('\n')}\nNothing was changed.`);
  const undo = keptBefore(config.FETCH_HOME, values);
  try {
    return reload();
  } catch (error) {
    // settings that contradict each other
    undo();
    throw error instanceof ConfigError ? new SettingError(`${error.message}\nNothing was changed.`) : error;
  }
}

/** Writes values, and returns what brings back the file of before. @throws SettingError */
function keptBefore(home: string, values: Record<string, string | undefined>): () => void {
  try {
    return keepSettings(home, values);
  } catch (error) {
    throw new SettingError((error as Error).message);
  }
}
