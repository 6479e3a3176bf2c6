import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { cancel, intro, outro, text } from '@clack/prompts';
import { parse } from 'dotenv';
import { keepSettings } from '../../adapters/env-file.ts';
import type { Config } from '../../config.ts';
import { typedCommand } from '../../installation.ts';
import { factsOf } from '../instance/servers/with-store.ts';
import { askModel, type ModelChoice, type ModelParts, type Terminal } from './model-question.ts';
import { isCancel } from './questions.ts';

export interface SetupParts extends ModelParts {
  discover: (config: Config) => Promise<ModelChoice[]>;
}

/** Every setting that chooses a model: choosing another one removes what the last choice left. */
const MODEL_SETTINGS = ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY', 'AGENT_MODEL'];
/** Asks when this home has no `.env` yet and a person sits there; true when it asked. */
export async function firstStart(config: Config): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY || existsSync(join(config.FETCH_HOME, '.env'))) return false;
  await setup(config);
  return true;
}

/**
 * Which model (with its key, where it needs one), and two more questions with a default; the answers go to
 * FETCH_HOME/.env. Ctrl-C takes the defaults of what is left. Throws when the file cannot be written.
 */
export async function setup(config: Config, parts?: SetupParts, terminal: Terminal = {}): Promise<void> {
  const file = join(config.FETCH_HOME, '.env');
  const known = parse(existsSync(file) ? readFileSync(file, 'utf8') : '');
  const { discover, ...asked } = parts ?? (await realParts(config));
  const values: Record<string, string | undefined> = {
    FETCH_USER_NAME: known.FETCH_USER_NAME || userName(),
    FETCH_TIME_ZONE: known.FETCH_TIME_ZONE || Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC',
  };
  intro('Fetch: a model, your name, your time zone. Enter takes the default.', terminal);
  const model = await askModel(await discover(config).catch(() => []), asked, terminal);
  if (model !== null) for (const name of MODEL_SETTINGS) values[name] = model[name];
  const goesOn =
    model !== null &&
    (await askText(values, 'FETCH_USER_NAME', 'What may I call you?', undefined, terminal)) &&
    (await askText(
      values,
      'FETCH_TIME_ZONE',
      'Your time zone?',
      (zone) => (isTimeZone(zone) ? undefined : 'Not an IANA time zone such as Europe/Berlin'),
      terminal,
    ));
  if (!goesOn) cancel(`The defaults are used. "${typedCommand('setup')}" asks again.`, terminal);
  keepSettings(config.FETCH_HOME, values);
  if (goesOn) outro(`Saved in ${file}. "${typedCommand('setup')}" asks again.`, terminal);
}

async function askText(
  values: Record<string, string | undefined>,
  name: string,
  message: string,
  validate: ((value: string) => string | undefined) | undefined,
  terminal: Terminal,
): Promise<boolean> {
  const fallback = values[name] ?? '';
  const answer = await text({
    ...terminal,
    message,
    placeholder: fallback,
    defaultValue: fallback,
    validate: (value) => (value?.trim() && validate ? validate(value.trim()) : undefined),
  });
  if (isCancel(answer)) return false;
  values[name] = answer.trim().slice(0, 80) || fallback;
  return true;
}

/** Loaded when asked for: the model client is heavy, and most commands never need it. */
async function realParts(config: Config): Promise<SetupParts> {
  const { discoverModels, modelsOf, verifyModel } = await import('../../adapters/model/endpoint/discover.ts');
  return { discover: discoverModels, models: modelsOf, verify: (env) => verifyModel(env, undefined, factsOf(config)) };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // a user id without an entry, as in some containers
    return '';
  }
}

function isTimeZone(zone: string): boolean {
  return zone === 'UTC' || Intl.supportedValuesOf('timeZone').includes(zone);
}
