import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { cancel, intro, isCancel, outro, text } from '@clack/prompts';
import { parse } from 'dotenv';
import type { Config } from '../../config.ts';
import { askModel, type ModelChoice, type ModelParts, type Terminal } from './model-question.ts';

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
 * Which model (with its key, where it needs one), and two more questions with a default; the answers go to FETCH_HOME/.env. Ctrl-C takes
 * the defaults of what is left. Throws when the file cannot be written.
 */
export async function setup(config: Config, parts?: SetupParts, terminal: Terminal = {}): Promise<void> {
  const file = join(config.FETCH_HOME, '.env');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const known = parse(before);
  const { discover, ...asked } = parts ?? (await realParts());
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
  if (!goesOn) cancel('The defaults it is. "fetch setup" asks again.', terminal);
  writeAtomically(file, mergeEnv(before, values));
  if (goesOn) outro(`Saved in ${file}. "fetch setup" asks again.`, terminal);
}

/** Puts settings into FETCH_HOME/.env, where what else is there stays as it is. Throws when the file cannot be written. */
export function keepSettings(home: string, values: Record<string, string>): void {
  const file = join(home, '.env');
  writeAtomically(file, mergeEnv(existsSync(file) ? readFileSync(file, 'utf8') : '', values));
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

/**
 * The text of a `.env` file with these values: what is there keeps its place, comments and unknown lines stay as they
 * are, new names come last, and `undefined` removes one. Throws when a value cannot be written to such a file.
 */
export function mergeEnv(before: string, values: Record<string, string | undefined>): string {
  const left = new Map(Object.entries(values));
  const eol = before.includes('\r\n') ? '\r\n' : '\n';
  // an assignment as dotenv reads it: quoted values may span lines, so lines alone would not do
  const assignment = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:'(?:\\'|[^'])*'|"(?:\\"|[^"])*"|`(?:\\`|[^`])*`|[^#\r\n]*)[^\r\n]*(?:\r?\n|$)/gm;
  let merged = before.replace(assignment, (line, name: string) => {
    if (!Object.hasOwn(values, name)) return line;
    const value = left.get(name);
    // a name that stands there twice keeps its first place only: readers take the last
    left.delete(name);
    return value === undefined ? '' : `${name}=${quote(name, value)}${eol}`;
  });
  const added = [...left].filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (added.length > 0 && merged !== '' && !merged.endsWith('\n')) merged += eol;
  return merged + added.map(([name, value]) => `${name}=${quote(name, value)}${eol}`).join('');
}

function quote(name: string, value: string): string {
  if (/^[\w./:@+,=-]+$/.test(value) || value === '') return value;
  if (/[\r\n\0]/.test(value)) throw new Error(`${name} may not contain a line break.`);
  for (const mark of ["'", '`', '"']) {
    // inside double quotes dotenv turns \n into a line break
    if (!value.includes(mark) && !value.endsWith('\\') && !(mark === '"' && value.includes('\\'))) return mark + value + mark;
  }
  throw new Error(`${name} has a combination of quotes that an .env file cannot hold.`);
}

/** A reader never sees half a file, and the keys in it are never readable for others, not even for a moment. */
function writeAtomically(file: string, content: string): void {
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.new`;
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, content, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new Error(`${file} cannot be written: ${(error as Error).message}`);
  }
}

/** Loaded when asked for: the model client is heavy, and most commands never need it. */
async function realParts(): Promise<SetupParts> {
  const { discoverModels, modelsOf, verifyModel } = await import('../../adapters/model/discover.ts');
  return { discover: discoverModels, models: modelsOf, verify: verifyModel };
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
