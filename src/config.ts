import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import { parse } from 'dotenv';
import { z } from 'zod';
import { LENIENT, membersOf } from './domain/setting-lists.ts';
import { chatSettings } from './domain/settings/chat.ts';
import { instanceSettings } from './domain/settings/instance.ts';
import { kennelSettings } from './domain/settings/kennel.ts';
import { modelSettings } from './domain/settings/model.ts';
import { serversSettings } from './domain/settings/servers.ts';
import { meantBy } from './domain/settings/shapes.ts';
import { speechSettings } from './domain/settings/speech.ts';
import { nearest } from './domain/text/nearest.ts';
import { whatsappSettings, whatsappTestServer } from './domain/whatsapp/settings.ts';

/**
 * Configuration is parsed once, here, and nowhere else is `process.env` read. Order of authority: flags, then the
 * environment, then `FETCH_HOME/.env`, then the defaults below. Every problem is reported at once, by variable name.
 */

/** Each subject has a file in `src/domain/settings`; the order here is the order of the tables in the docs. */
export const settings = {
<<<<<<< HEAD
  ...instanceSettings,
  ...modelSettings,
  ...serversSettings,
  ...chatSettings,
=======
  FETCH_HOME: z.string().min(1).describe('Where state lives (databases, logs, tokens); mode 0700'),
  FETCH_RUNTIME_PORT: port(7878).describe('Runtime API: /v1, events'),
  FETCH_STATUS_PORT: port(8765).describe('Status API: /api/status, /api/health'),
  FETCH_TEMPORAL_PORT: port(7233).describe('Embedded Temporal server'),
  FETCH_TEMPORAL_UI_PORT: port(8233).describe('Temporal Web UI of the embedded server'),
  FETCH_POSTGRES_PORT: port(7432).describe('Embedded PostgreSQL'),
  FETCH_HOST: z.string().default('127.0.0.1').describe('Address that the HTTP APIs bind to; loopback by default'),
  FETCH_ALLOWED_HOSTS: z
    .string()
    .optional()
    .describe('More names that the HTTP APIs are reached by, comma separated; localhost, the name of this machine and addresses always work'),
  FETCH_RUNTIME_TOKEN: secret().describe('Bearer token of the runtime API; made and stored in FETCH_HOME/runtime-token when unset'),
  DEEPSEEK_RUNTIME_TOKEN: secret().describe('The same, under the name that existing clients use'),
  DEEPSEEK_CORS_ORIGINS: z.string().default('').describe('More origins that browsers may call from, comma separated'),
  ADMIN_TOKEN: secret().describe('Bearer token of the status API; made and stored in FETCH_HOME/admin-token when unset'),
  OPENAI_BASE_URL: z.url().optional().describe('Any OpenAI-compatible endpoint (Ollama, vLLM, llama.cpp, ...)'),
  OPENAI_API_KEY: secret().describe('Key for it, or for OpenAI itself'),
  OPENROUTER_API_KEY: secret().describe('Key for OpenRouter; used when no OpenAI setting is there'),
  AGENT_MODEL: z.string().trim().min(1).optional().describe('Model name. Where no key and no endpoint is configured, the practice model answers'),
  FETCH_FALLBACK_MODEL: z.string().trim().min(1).optional().describe('A second model of the same endpoint that takes over when the first one fails'),
  FETCH_MODEL_PRICE: z
    .string()
    .trim()
    .superRefine((text, context) => {
      const prices = readPrices(text);
      if (typeof prices === 'string') context.addIssue(prices);
    })
    .optional()
    .describe(
      'Price of input, output and perhaps cached input, US dollars per million tokens: 0.5,2 for the endpoint of chats, some-model=0.5,2,0.05 for a model anywhere; more of them behind a ;',
    ),
  FETCH_MODEL_TELL_SECONDS: positive(30).describe('A wait for the model that is longer than this is told'),
  FETCH_MODEL_SILENCE_SECONDS: positive(600).describe(
    'A model endpoint that gives no answer for this long is given up; until half of it has passed, the first request is waited for: slow machines need minutes for a first word',
  ),
  FETCH_MODEL_WAIT_HOURS: z.coerce
    .number()
    .min(0)
    .max(24 * 31)
    .default(6)
    .describe("A turn waits out the model's rate and usage limits for this long in all, which is no part of FETCH_MAX_TURN_MINUTES"),
  TEMPORAL_ADDRESS: z.string().trim().min(1).optional().describe('Use this Temporal server and start none'),
  TEMPORAL_NAMESPACE: z.string().trim().min(1).default('default').describe('Temporal namespace'),
  TEMPORAL_API_KEY: secret().describe('API key of TEMPORAL_ADDRESS, as Temporal Cloud has them; sent over TLS only'),
  TEMPORAL_TLS: z.stringbool().optional().describe('Speak TLS with TEMPORAL_ADDRESS; by itself with an API key or any of the settings below'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: z
    .string()
    .min(1)
    .optional()
    .describe('File with the certificates that vouch for the Temporal server; those of the system when unset'),
  TEMPORAL_TLS_CLIENT_CERT_PATH: z.string().min(1).optional().describe('File with the certificate that the Temporal server knows us by'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: z.string().min(1).optional().describe('File with its key'),
  TEMPORAL_TLS_SERVER_NAME: z.string().min(1).optional().describe('Name in the certificate of the Temporal server, where it is not that of the address'),
  FETCH_BUILD_ID: z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$/, 'must be letters, digits, dots, hyphens and underscores')
    .optional()
    .describe(
      'For `fetch worker` only: build of this worker, where builds run side by side. It gets no work before `fetch deploy current`: docs/operations.md',
    ),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .describe('Use this PostgreSQL and start none'),
  FETCH_PREPARE_STATEMENTS: z
    .stringbool()
    .default(true)
    .describe('`false` prepares no statements: for a pooler in front of DATABASE_URL that gives each transaction another connection'),
  FETCH_WORKSPACE: z.string().min(1).optional().describe('Folder that new threads work in; the current folder by default'),
  FETCH_USER_NAME: z.string().trim().max(80).optional().describe('What to call the person'),
  FETCH_TIME_ZONE: z
    .string()
    .trim()
    .min(1)
    .default('UTC')
    .describe('IANA time zone of the person')
    .superRefine((zone, context) => {
      const zones = Intl.supportedValuesOf('timeZone');
      if (!zones.includes(zone) && zone !== 'UTC') context.addIssue(`is not an IANA time zone such as Europe/Berlin${meantBy({ among: zones }, zone)}`);
    }),
  FETCH_AUTONOMY: z.enum(['supervised', 'cautious', 'autonomous']).default('cautious').describe('What runs without asking: see docs/consent.md'),
  FETCH_READ_SECONDS: z.coerce
    .number()
    .min(0)
    .max(60)
    .default(2)
    .describe('How long a question must have been shown before a bare yes or no counts for it; "yes 2" and a quote of it name it and need that, too'),
  FETCH_MAX_STEPS: whole(25).describe('Model steps in a turn'),
  FETCH_MAX_TOOL_CALLS: whole(60).describe('Tool calls in a turn'),
  FETCH_MAX_TURN_TOKENS: whole(2_000_000).describe('Tokens in a turn'),
  FETCH_MAX_TURN_USD: positive(5).describe('Money in a turn, US dollars'),
  FETCH_MAX_DAY_TOKENS: whole(20_000_000).describe('Tokens of a chat in a day (UTC)'),
  FETCH_MAX_DAY_USD: positive(25).describe('Money of a chat in a day (UTC), US dollars'),
  FETCH_MAX_TURN_MINUTES: positive(240).describe('Wall time of a turn, not counting waits for a person'),
  FETCH_CONTEXT_TOKENS: whole(48_000).describe('Tokens of history that a model step may see before it is summed up'),
  FETCH_QUESTION_REMIND_HOURS: positive(24).describe('Remind once about an open question after this long'),
  FETCH_QUESTION_EXPIRE_HOURS: positive(24 * 7).describe('An unanswered question expires after this long'),
  // a run has four events before it does anything: a limit below them would continue as new for ever
  FETCH_CATCHUP_HOURS: z.coerce
    .number()
    .min(1)
    .max(24 * 30)
    .default(24)
    .describe('A cron that was due while nothing ran still runs when no more than this has passed; several of one cron run once, and say so'),
  FETCH_SEPARATE_PROCESSES: z
    .stringbool()
    .default(false)
    .describe('Gateway, API and kennel run in a process each, so that a crash of one takes none of the others along. It takes some 90 MB more'),
  FETCH_STOP_SECONDS: z.coerce
    .number()
    .min(1)
    .max(3600)
    .default(30)
    .describe('A stop waits this long for model steps, commands and calls of agents that are under way; `fetch stop --now` does not'),
  FETCH_ON_LEAVE: z
    .enum(['ask', 'keep', 'stop'])
    .default('ask')
    .describe(
      'When you leave the chat of `fetch start`, and that terminal had started Fetch: ask once, keep it running, or stop it. A window that is closed stops it with `stop` only',
    ),
  FETCH_MAX_HISTORY_EVENTS: z.coerce
    .number()
    .int()
    .min(20)
    .default(1500)
    .describe('A conversation continues as new between turns above this many history events'),
  FETCH_UI_TEXT: z
    .enum(['on', 'off'])
    .default('off')
    .describe('on: the Temporal Web UI shows the first words of questions, and the file or command of an approval; off: their kind alone'),
  FETCH_ALLOW_PRIVATE_URLS: z.stringbool().default(false).describe('Let web_fetch reach private addresses; for tests and trusted networks only'),
>>>>>>> b76d570 (Say which processes there are, and what separate ones cost)
  ...whatsappSettings,
  ...kennelSettings,
  FETCH_ENCRYPTION_KEY: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .optional()
    .describe('Key that encrypts the WhatsApp credentials; when unset, one is created in FETCH_HOME/encryption-key'),
  ...speechSettings,
  ...whatsappTestServer,
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info').describe('Log level'),
} as const;

const schema = z.object(settings);
export type Config = Readonly<z.infer<typeof schema>> & {
  /** the effective runtime token setting, whichever of its two names was used */
  readonly runtimeToken: string | undefined;
};

/** Thrown with every problem of the configuration; `message` is ready for a person. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** FETCH_HOME itself cannot come from the file that lies in it. */
export function fetchHome(flags: Partial<Record<string, string>> = {}, env: NodeJS.ProcessEnv = process.env): string {
  return resolve(flags.FETCH_HOME || env.FETCH_HOME || join(homedir(), '.fetch'));
}

export function loadConfig(flags: Partial<Record<string, string>> = {}, env: NodeJS.ProcessEnv = process.env): Config {
  const home = fetchHome(flags, env);
  const file = join(home, '.env');
  let fromFile: Record<string, string> = {};
  try {
    if (existsSync(file)) fromFile = parse(readFileSync(file));
  } catch (error) {
    throw new ConfigError([`${file} cannot be read: ${(error as Error).message}. Make it readable for this user (chmod 600).`]);
  }
  const raw: Record<string, string> = {};
  for (const name of Object.keys(settings)) {
    // an empty variable means "unset": shells and compose files cannot easily unset one
    const value = flags[name] ?? (env[name]?.trim() ? env[name] : undefined) ?? (fromFile[name]?.trim() ? fromFile[name] : undefined);
    if (value !== undefined) raw[name] = value;
  }
  raw.FETCH_HOME = home;
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => {
        const name = String(issue.path[0]);
        const origin = flags[name] !== undefined ? 'flag' : env[name]?.trim() ? 'environment' : file;
        return `${name} (${origin}): ${issue.message}`;
      }),
    );
  }
  return Object.freeze({ ...parsed.data, runtimeToken: parsed.data.FETCH_RUNTIME_TOKEN ?? parsed.data.DEEPSEEK_RUNTIME_TOKEN });
}

/** Settings, as they were written, that come from flags or the environment and not from FETCH_HOME/.env: a service, which has neither, would not see them. */
export function settingsElsewhere(flags: Partial<Record<string, string>> = {}, env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const file = join(fetchHome(flags, env), '.env');
  const kept = existsSync(file) ? parse(readFileSync(file)) : {};
  const found = Object.keys(settings).flatMap((name): Array<[string, string]> => {
    const value = flags[name] ?? (env[name]?.trim() ? env[name] : undefined);
    return name === 'FETCH_HOME' || value === undefined || value === kept[name] ? [] : [[name, value]];
  });
  return Object.fromEntries(found);
}

/** Names that begin like this are ours: one that no setting has is a mistake. */
const OURS = /^(FETCH_|WHATSAPP_|WHISPER_|TRANSCRIPTION_|DEEPSEEK_|WA_)/;

/** What a person wrote that nothing reads: misspelt names in FETCH_HOME/.env and in the environment, lines of the file that assign nothing, and members of lists that are none. */
export function configWarnings(home: string, env: NodeJS.ProcessEnv = process.env): string[] {
  const file = join(home, '.env');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const known = Object.keys(settings);
  const unknown = (names: string[], where: string): string[] =>
    names
      .filter((name) => OURS.test(name) && !known.includes(name))
      .map((name) => `${name} (${where}) is no setting and is ignored.${nearest(name, known).length > 0 ? ` Did you mean ${nearest(name, known)[0]}?` : ''}`);
  return [
    ...unknown(Object.keys(parse(text)), file),
    ...unknown(
      Object.keys(env).filter((name) => !FOR_TESTS.test(name)),
      'environment',
    ),
    ...wrongMembers(parse(text), file, env),
    ...strayLines(text).map((line) => `Line ${line} of ${file} assigns nothing and is ignored: a setting is written as NAME=value.`),
  ];
}

/** The environment is read before the file. */
function wrongMembers(inFile: Record<string, string>, file: string, env: NodeJS.ProcessEnv): string[] {
  return Object.entries(LENIENT).flatMap(([name, check]) => {
    const fromEnv = env[name]?.trim() ? env[name] : undefined;
    const where = fromEnv === undefined ? file : 'environment';
    return membersOf(fromEnv ?? inFile[name] ?? '').flatMap((member) => {
      const wrong = check(member);
      return wrong ? [`${name} (${where}): ${wrong.problem}; it is left out.${meantBy(wrong, member).replace('; did', ' Did')}`] : [];
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
  return blanked.split('\n').flatMap((line, index) => (line.trim() === '' || line.trim().startsWith('#') ? [] : [index + 1]));
}

/** The environment of a child role: the parent's, less what npm put there, plus what was decided at start. */
export function childEnvironment(extra: Record<string, string>, env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined && !name.startsWith('npm_')) clean[name] = value;
  return { ...clean, TZ: 'UTC', ...extra };
}

/** A terminal that knows no escape sequences. */
export const isDumbTerminal = (env: NodeJS.ProcessEnv = process.env): boolean => env.TERM === 'dumb';

/** What a program that is not ours needs of the environment: where things are, how to speak, and the ways out. */
const FOR_SERVERS =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TEMP|TMP|LANG|LC_[A-Z]+|TZDIR|LD_LIBRARY_PATH|DYLD_[A-Z_]*LIBRARY_PATH|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|XDG_[A-Z_]+)$/i;

/** The environment of servers and tools that are not ours (PostgreSQL, Temporal, readers of strangers' files): an allow-list, so no key of ours or of the person reaches them. */
export function serverEnvironment(extra: Record<string, string>, env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  return Object.fromEntries(Object.entries(childEnvironment(extra, env)).filter(([name]) => name in extra || name === 'TZ' || FOR_SERVERS.test(name)));
}

/** What a service needs of the environment besides its settings. Where a proxy has a password it stays out: the files of services are no place for secrets. */
const FOR_SERVICES = /^(PATH|LANG|LC_[A-Z]+|XDG_CACHE_HOME|NODE_EXTRA_CA_CERTS|NODE_USE_ENV_PROXY|SSL_CERT_(FILE|DIR)|(HTTPS?|ALL|NO)_PROXY)$/i;

/** The environment that a service manager is to start Fetch with. PATH as outside of npm, so that docker, git and whisper are found. */
export function serviceEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => FOR_SERVICES.test(name) && value && !value.includes('@'));
  const path = (env.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder) && !folder.split(sep).includes('node_modules'));
  return { ...(Object.fromEntries(kept) as Record<string, string>), PATH: [...new Set(path)].join(delimiter) };
}
