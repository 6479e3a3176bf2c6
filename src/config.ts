import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import { parse } from 'dotenv';
import { z } from 'zod';
import { UserError } from './contracts/user-error.ts';
import { chatSettings } from './domain/settings/chat.ts';
import { instanceSettings } from './domain/settings/instance.ts';
import { kennelSettings } from './domain/settings/kennel.ts';
import { isConstant, isListed } from './domain/settings/listed.ts';
import { modelSettings, speechSettings } from './domain/settings/model.ts';
import { isOriginalName, valueIn } from './domain/settings/original-names.ts';
import { problemOf } from './domain/settings/problems.ts';
import { serversSettings } from './domain/settings/servers.ts';
import { isLive, isLoopback, LENIENT, live, mayBeInFile, meantBy, membersOf } from './domain/settings/shapes.ts';
import { tracingSettings } from './domain/settings/tracing.ts';
import { telegramSettings } from './domain/telegram/settings.ts';
import { nearest } from './domain/text/nearest.ts';
import { whatsappSettings, whatsappTestServer } from './domain/whatsapp/settings.ts';

/**
 * Configuration is parsed once, here, and nowhere else is `process.env` read. Order of authority: flags, then the
 * environment, then `FETCH_HOME/.env`, then the defaults below. Every problem is reported at once, by variable name.
 * Only `reloadConfig` and `renewConfig` change a configuration.
 */

/** Each subject has a file in `src/domain/settings`; the order here is the order of the tables in the docs. */
export const settings = {
  ...instanceSettings,
  ...modelSettings,
  ...serversSettings,
  ...chatSettings,
  ...whatsappSettings,
  ...telegramSettings,
  ...kennelSettings,
  FETCH_ENCRYPTION_KEY: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .optional()
    .meta({ secret: true })
    .describe(
      'Key that encrypts the WhatsApp credentials and the logins at MCP servers; FETCH_HOME/encryption-key when unset',
    ),
  ...speechSettings,
  ...tracingSettings,
  ...whatsappTestServer,
  LOG_LEVEL: live(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info').describe('Log level')),
} as const;

/** The subject of each setting, as the docs and the owner's page group them. */
const SUBJECTS = {
  instance: instanceSettings,
  model: modelSettings,
  servers: serversSettings,
  chat: chatSettings,
  whatsapp: whatsappSettings,
  telegram: telegramSettings,
  kennel: kennelSettings,
  speech: speechSettings,
};
export const subjectOf = (name: string): string =>
  Object.entries(SUBJECTS).find(([, shape]) => Object.hasOwn(shape, name))?.[0] ?? 'instance';

const schema = z.object(settings);
const SETTING_NAMES = Object.keys(settings) as Array<keyof typeof settings>;
/**
 * `OPENAI_API_KEY_FILE=/run/secrets/openai` stands for the key in that file, as Docker and Kubernetes hand secrets
 * over. Each secret setting has such a name.
 */
const fileNameOf = (setting: string): string => `${setting}_FILE`;
const FILE_NAMES = SETTING_NAMES.filter((name) => mayBeInFile(settings[name])).map(fileNameOf);
export type Config = Readonly<z.infer<typeof schema>> & {
  /** the effective runtime token setting, whichever of its two names was used */
  readonly runtimeToken: string | undefined;
  /** address that the runtime API binds to */
  readonly runtimeHost: string;
};

/** Thrown with every problem of the configuration; `message` is ready for a person. */
export class ConfigError extends UserError {
  override readonly name = 'ConfigError';
  override readonly exitCode = 2;
  readonly problems: readonly string[];
  constructor(problems: readonly string[], hint = '') {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}${hint && `\n${hint}`}`,
    );
    this.problems = problems;
  }
}

/** FETCH_HOME itself cannot come from the file that lies in it. */
export function fetchHome(flags: Partial<Record<string, string>> = {}, env: NodeJS.ProcessEnv = process.env): string {
  return resolve(flags.FETCH_HOME || env.FETCH_HOME || join(homedir(), '.fetch'));
}

/** Where the value of a setting comes from. */
export type Source = 'flag' | 'environment' | 'file' | 'default';

/** The source of a configuration, so that it can be read again. */
interface Origin {
  flags: Partial<Record<string, string>>;
  env: NodeJS.ProcessEnv;
  sources: Readonly<Record<string, Source>>;
}
const origins = new WeakMap<Config, Origin>();

export function loadConfig(flags: Partial<Record<string, string>> = {}, env: NodeJS.ProcessEnv = process.env): Config {
  const home = fetchHome(flags, env);
  const file = join(home, '.env');
  const fromFile = settingsInFile(file);
  const raw: Record<string, string> = {};
  const sources: Record<string, Source> = {};
  const problems: string[] = [];
  const placeOf = (name: string) => (sources[name] === 'file' ? file : sources[name]);
  for (const name of SETTING_NAMES) {
    const [source, value] = given(name, flags, env, fromFile);
    sources[name] = source;
    if (value instanceof Error) problems.push(`${fileNameOf(name)} (${placeOf(name)}): ${value.message}`);
    else if (value !== undefined) raw[name] = value;
  }
  raw.FETCH_HOME = home;
  const parsed = schema.safeParse(raw);
  for (const [name, issues] of Map.groupBy(parsed.error?.issues ?? [], ({ path }) => String(path[0])))
    problems.push(
      `${name} (${placeOf(name)}): ${problemOf(settings[name as keyof typeof settings], raw[name] ?? '', issues)}`,
    );
  if (!parsed.success || problems.length > 0)
    throw new ConfigError(problems, 'Correct it where it is set. A setting that is removed there has its default.');
  const { FETCH_RUNTIME_TOKEN, DEEPSEEK_RUNTIME_TOKEN, FETCH_RUNTIME_HOST, FETCH_HOST } = parsed.data;
  const config = {
    ...parsed.data,
    runtimeToken: FETCH_RUNTIME_TOKEN ?? DEEPSEEK_RUNTIME_TOKEN,
    runtimeHost: FETCH_RUNTIME_HOST ?? FETCH_HOST,
  };
  if (config.FETCH_RUNTIME_INSECURE && !isLoopback(config.runtimeHost))
    throw new ConfigError([
      `FETCH_RUNTIME_INSECURE (${placeOf('FETCH_RUNTIME_INSECURE')}): without a token, the runtime API listens on a loopback address only, and not on ${config.runtimeHost}. Unset it, or listen on 127.0.0.1`,
    ]);
  origins.set(config, { flags, env, sources });
  return config;
}

function settingsInFile(file: string): Record<string, string> {
  try {
    return existsSync(file) ? parse(readFileSync(file)) : {};
  } catch (error) {
    throw new ConfigError([
      `${file} cannot be read: ${(error as Error).message}. Make it readable for this user (chmod 600).`,
    ]);
  }
}

/** An empty variable means "unset": shells and compose files cannot easily unset one. */
function given(
  name: string,
  flags: Origin['flags'],
  env: NodeJS.ProcessEnv,
  fromFile: Record<string, string>,
): [Source, string | undefined | Error] {
  if (flags[name] !== undefined) return ['flag', flags[name]];
  const inEnvironment = valueIn(name, env) ?? secretOf(name, env);
  if (inEnvironment !== undefined) return ['environment', inEnvironment];
  const inFile = valueIn(name, fromFile) ?? secretOf(name, fromFile);
  return inFile === undefined ? ['default', undefined] : ['file', inFile];
}

/**
 * What is in the file that `<name>_FILE` names; an error where that is no secret. The setting itself goes before it: a
 * supervisor gives its roles the values.
 */
function secretOf(name: string, values: Readonly<Record<string, string | undefined>>): string | undefined | Error {
  const variable = fileNameOf(name);
  const path = FILE_NAMES.includes(variable) ? values[variable]?.trim() : undefined;
  if (!path) return undefined;
  try {
    const secret = readFileSync(path, 'utf8').trim();
    return secret === '' ? new Error(`${path} is empty. Put the secret into it, or unset ${variable}`) : secret;
  } catch (error) {
    return new Error(
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code}). Put the secret there, readable for this user, or unset ${variable}`,
    );
  }
}

export const sourcesOf = (config: Config): Readonly<Record<string, Source>> => origins.get(config)?.sources ?? {};

/**
 * Lists the settings that an instance took from its `.env` or from a default. Its roles get every setting as a
 * variable, so that a restarted role has the settings of its fellows. This list tells them which of these the file may
 * change.
 */
export const FROM_FILE = 'FETCH_FROM_FILE';

/** The variables of a process without those that stand for its file. */
const withoutFile = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const ofFile = (env[FROM_FILE] ?? '').split(',');
  return Object.fromEntries(Object.entries(env).filter(([name]) => name === 'FETCH_HOME' || !ofFile.includes(name)));
};

/**
 * Where each value comes from for the instance as a whole: a role has every setting as a variable, also what is in the
 * file.
 */
export function currentSources(config: Config): Readonly<Record<string, Source>> {
  const { flags = {}, env = {} } = origins.get(config) ?? {};
  const outside = withoutFile(env);
  const fromFile = settingsInFile(join(config.FETCH_HOME, '.env'));
  return Object.fromEntries(SETTING_NAMES.map((name) => [name, given(name, flags, outside, fromFile)[0]]));
}

/** The configuration that a start would read now. @throws ConfigError */
export function configOfNextStart(config: Config): Config {
  const { flags, env } = origins.get(config)!;
  return loadConfig(flags, withoutFile(env));
}

/**
 * Settings that the supervisor and its servers keep until they end: other processes and browsers find them by these
 * ports.
 */
const OF_SUPERVISOR: ReadonlySet<string> = new Set([
  ...Object.keys(serversSettings),
  'FETCH_HOME',
  'FETCH_RUNTIME_PORT',
  'FETCH_STATUS_PORT',
  'FETCH_TEMPORAL_PORT',
  'FETCH_TEMPORAL_UI_PORT',
  'FETCH_POSTGRES_PORT',
  'FETCH_WORKSPACE',
]);
/** Whether only `fetch stop` and a new start apply a change of it. */
export const needsStop = (name: string): boolean => OF_SUPERVISOR.has(name);

/** Takes what the next start would read, for roles that start again under the same supervisor. @throws ConfigError */
export function renewConfig(config: Config): void {
  const next = Object.entries(configOfNextStart(config));
  Object.assign(config, Object.fromEntries(next.filter(([name]) => !needsStop(name))));
}

export interface Reloaded {
  /** settings that have another value now */
  updated: string[];
  /** settings that have another value at the next start */
  restart: string[];
}

/**
 * Reads `FETCH_HOME/.env` again and changes what can be changed while roles run. A removed line gives back the default.
 * A problem anywhere in the file changes nothing. @throws ConfigError
 */
export function reloadConfig(config: Config): Reloaded {
  const next = configOfNextStart(config);
  const changed = SETTING_NAMES.filter((name) => next[name] !== config[name]);
  const updated = changed.filter((name) => isLive(settings[name]));
  Object.assign(config, Object.fromEntries(updated.map((name) => [name, next[name]])));
  return { updated, restart: changed.filter((name) => !updated.includes(name)) };
}

/**
 * Settings, as they were written, that come from flags or the environment and not from FETCH_HOME/.env: a service,
 * which has neither, would not see them.
 */
export function settingsElsewhere(
  flags: Partial<Record<string, string>> = {},
  env: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const file = join(fetchHome(flags, env), '.env');
  const kept = existsSync(file) ? parse(readFileSync(file)) : {};
  const found = [...SETTING_NAMES, ...FILE_NAMES].flatMap((name): Array<[string, string]> => {
    const value = flags[name] ?? valueIn(name, env);
    return name === 'FETCH_HOME' || value === undefined || value === kept[name] ? [] : [[name, value]];
  });
  return Object.fromEntries(found);
}

/** Names that begin like this are ours: one that no setting has is a mistake. */
const OURS = /^(FETCH_|WHATSAPP_|WHISPER_|TRANSCRIPTION_|DEEPSEEK_|WA_)/;

/**
 * What a person wrote that nothing reads: misspelt names in FETCH_HOME/.env and in the environment, lines of the file
 * that assign nothing, and members of lists that are none.
 */
export function configWarnings(home: string, env: NodeJS.ProcessEnv = process.env): string[] {
  const file = join(home, '.env');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const known: string[] = [...SETTING_NAMES, ...FILE_NAMES];
  const unknown = (names: string[], where: string): string[] =>
    names
      .filter((name) => OURS.test(name) && !known.includes(name) && !isOriginalName(name))
      .map((name) => {
        const [near] = nearest(name, known.filter(isListed));
        return `${name} (${where}) is no setting and is ignored.${near ? ` Did you mean ${near}?` : ''}`;
      });
  return [
    ...unknown(Object.keys(parse(text)), file),
    ...unknown(
      Object.keys(env).filter((name) => !FOR_TESTS.test(name) && name !== FROM_FILE),
      'environment',
    ),
    ...wrongMembers(parse(text), file, env),
    ...strayLines(text).map(
      (line) => `Line ${line} of ${file} assigns nothing and is ignored: a setting is written as NAME=value.`,
    ),
  ];
}

/** Settings of an older release that have become constants. A value that is still given counts. */
export function constantsGiven(home: string, env: NodeJS.ProcessEnv = process.env): string[] {
  const file = join(home, '.env');
  const given = (values: Readonly<Record<string, string | undefined>>, where: string): string[] =>
    SETTING_NAMES.filter((name) => isConstant(name) && values[name]?.trim()).map(
      (name) =>
        `${name} (${where}) is no setting any more. Its value still counts; without it, ${settings[name].parse(undefined)} does.`,
    );
  return [...given(settingsInFile(file), file), ...given(env, 'environment')];
}

/** On standard error, for a person who begins a command; what needs no haste is said where Fetch starts. */
export function printWarnings({ FETCH_HOME }: Config, starts: boolean): void {
  for (const warning of [...configWarnings(FETCH_HOME), ...(starts ? constantsGiven(FETCH_HOME) : [])])
    process.stderr.write(`Warning: ${warning}\n`);
}

/** The environment is read before the file. */
function wrongMembers(inFile: Record<string, string>, file: string, env: NodeJS.ProcessEnv): string[] {
  return Object.entries(LENIENT).flatMap(([name, check]) => {
    const fromEnv = env[name]?.trim() ? env[name] : undefined;
    const where = fromEnv === undefined ? file : 'environment';
    return membersOf(fromEnv ?? inFile[name] ?? '').flatMap((member) => {
      const wrong = check(member);
      return wrong
        ? [`${name} (${where}): ${wrong.problem}; it is left out.${meantBy(wrong, member).replace('; did', ' Did')}`]
        : [];
    });
  });
}

const FOR_TESTS = /^FETCH_TEST_/;

/** Numbers of the lines that are neither blank, a comment nor part of an assignment; quoted values may span lines. */
function strayLines(text: string): number[] {
  const blanked = text.replace(
    /^[ \t]*(?:export[ \t]+)?[\w.-]+[ \t]*=[ \t]*(?:'(?:\\'|[^'\\])*'|"(?:\\"|[^"\\])*"|`(?:\\`|[^`\\])*`|[^\r\n]*)[^\r\n]*/gm,
    (assignment) => assignment.replace(/[^\n]/g, ''),
  );
  return blanked
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' || line.trim().startsWith('#') ? [] : [index + 1]));
}

/** The environment of a child role: the parent's, less what npm put there, plus what was decided at start. */
export function childEnvironment(
  extra: Record<string, string>,
  env: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !name.startsWith('npm_')) clean[name] = value;
  return { ...clean, TZ: 'UTC', ...extra };
}

/** A terminal that knows no escape sequences. */
export const isDumbTerminal = (env: NodeJS.ProcessEnv = process.env): boolean => env.TERM === 'dumb';

/** What a program that is not ours needs of the environment: where things are, how to speak, and the ways out. */
const FOR_SERVERS =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TEMP|TMP|LANG|LC_[A-Z]+|TZDIR|LD_LIBRARY_PATH|DYLD_[A-Z_]*LIBRARY_PATH|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|XDG_[A-Z_]+)$/i;

/**
 * The environment of servers and tools that are not ours (PostgreSQL, Temporal, readers of strangers' files): an
 * allow-list, so no key of ours or of the person reaches them.
 */
export function serverEnvironment(
  extra: Record<string, string>,
  env: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(childEnvironment(extra, env)).filter(
      ([name]) => name in extra || name === 'TZ' || FOR_SERVERS.test(name),
    ),
  );
}

/**
 * What a service needs of the environment besides its settings. Where a proxy has a password it stays out: the files of
 * services are no place for secrets.
 */
const FOR_SERVICES =
  /^(PATH|LANG|LC_[A-Z]+|XDG_CACHE_HOME|NODE_EXTRA_CA_CERTS|NODE_USE_ENV_PROXY|SSL_CERT_(FILE|DIR)|(HTTPS?|ALL|NO)_PROXY)$/i;

/**
 * The environment that a service manager is to start Fetch with. PATH as outside of npm, so that docker, git and
 * whisper are found.
 */
export function serviceEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => FOR_SERVICES.test(name) && value && !value.includes('@'));
  const path = (env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !folder.split(sep).includes('node_modules'));
  return { ...(Object.fromEntries(kept) as Record<string, string>), PATH: [...new Set(path)].join(delimiter) };
}
