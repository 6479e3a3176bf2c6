import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { cancel, intro, isCancel, log, outro, select, spinner, text } from '@clack/prompts';
import { parse } from 'dotenv';
import type { Config } from '../config.ts';

/** A model that can be chosen, with the settings that choose it. */
export interface ModelChoice {
  label: string;
  env: Record<string, string>;
  kind: string;
}
export interface SetupParts {
  discover: (config: Config) => Promise<ModelChoice[]>;
  verify: (env: Record<string, string>) => Promise<{ ok: true } | { ok: false; error: string }>;
}
/** Other streams than this process's own. */
export interface Terminal {
  input?: Readable;
  output?: Writable;
}

/** Every setting that chooses a model: choosing another one removes what the last choice left. */
const MODEL_SETTINGS = ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY', 'AGENT_MODEL'];
const PRACTICE: ModelChoice = {
  label: 'Practice (no model, no key: a built-in guide that shows what Fetch can do)',
  env: { AGENT_MODEL: 'practice' },
  kind: 'practice',
};

/** Asks when this home has no `.env` yet and a person sits there; true when it asked. */
export async function firstStart(config: Config): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY || existsSync(join(config.FETCH_HOME, '.env'))) return false;
  await setup(config);
  return true;
}

/**
 * At most three questions, each with a default; the answers go to FETCH_HOME/.env. Ctrl-C takes the defaults of what is
 * left. Throws when the file cannot be written.
 */
export async function setup(config: Config, parts?: SetupParts, terminal: Terminal = {}): Promise<void> {
  const file = join(config.FETCH_HOME, '.env');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const known = parse(before);
  const { discover, verify } = parts ?? (await realParts());
  const values: Record<string, string | undefined> = {
    FETCH_USER_NAME: known.FETCH_USER_NAME || userName(),
    FETCH_TIME_ZONE: known.FETCH_TIME_ZONE || Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC',
  };
  intro('Fetch: three questions, Enter takes the default', terminal);
  const goesOn =
    (await askModel(values, await discover(config).catch(() => []), verify, terminal)) &&
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

/** Adds the settings of a model that has proved to answer. False when the person pressed Ctrl-C: nothing about the model changes then. */
async function askModel(values: Record<string, string | undefined>, found: ModelChoice[], verify: SetupParts['verify'], terminal: Terminal): Promise<boolean> {
  const practice = found.find((choice) => choice.kind === 'practice') ?? PRACTICE;
  const choices = [...found.filter((choice) => choice.kind !== 'practice'), practice];
  for (let suggested = 0; ; ) {
    const picked = await select({
      ...terminal,
      message: 'Which model?',
      options: choices.map((choice, index) => ({ value: index, label: choice.label })),
      initialValue: suggested,
    });
    if (isCancel(picked)) return false;
    const choice = choices[picked]!;
    if (choice.kind !== 'practice') {
      const wait = spinner(terminal);
      wait.start('Asking it for one word, to see that it answers');
      const result = await verify(choice.env).catch((error: unknown) => ({
        ok: false as const,
        error: error instanceof Error ? error.message : String(error),
      }));
      if (!result.ok) {
        wait.error('It does not answer');
        log.warn(`${result.error}\nChoose again, or practice for now: "fetch setup" comes back here.`, terminal);
        suggested = choices.length - 1;
        continue;
      }
      wait.stop('It answers');
    }
    for (const name of MODEL_SETTINGS) values[name] = choice.env[name];
    Object.assign(values, choice.env);
    return true;
  }
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
  const { discoverModels, verifyModel } = await import('../adapters/model/discover.ts');
  return { discover: discoverModels, verify: verifyModel };
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
