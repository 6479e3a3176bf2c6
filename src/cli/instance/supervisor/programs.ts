import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { devServerArguments } from '../../../../temporal/dev-server.ts';
import type { TemporalBinary } from '../../../../temporal/version.ts';
import { type Config, childEnvironment, FROM_FILE, serverEnvironment, settings, sourcesOf } from '../../../config.ts';
import { PACKAGE_ROOT } from '../../../installation.ts';
import type { OwnRole, RoleName } from '../home/state-file.ts';
import type { LogName } from '../logs/role-log.ts';
import { answersOn } from '../servers/ports.ts';
import { acceptsConnections, clearStalePostmaster, type PostgresCommand } from '../servers/postgres.ts';
import type { UiAddress } from '../servers/ui-proxy.ts';
import type { RoleMessage } from './role-process.ts';

/** A process that the supervisor keeps running, and the roles in it. */
export interface ProgramSpec {
  roles: readonly RoleName[];
  log: LogName;
  file: string;
  args: string[];
  env: Record<string, string>;
  uid?: number;
  gid?: number;
  /** how its roles say that they serve: our own send a message each, the others are asked */
  readiness: 'message' | (() => Promise<boolean>);
  /** null: the role's `ready` message brings it */
  address: string | null;
  stops: (typeof STOP_ORDER)[number];
  stopSignal: NodeJS.Signals;
  /** after this long without an end it is killed */
  stopLimitMs: number;
  /** runs before every start */
  before?: () => Promise<void>;
  /** of our own: what its process waits for once its code is loaded */
  after?: Promise<unknown>;
  /** how the preparation of the servers ended, which is the first thing that this process does */
  onPreparation?: (message: RoleMessage) => void;
}

/**
 * V8 is made for servers with much memory: by default a heap may double before it is collected, and what it grew to is
 * not given back.
 */
const NODE_FLAGS = [
  '--max-semi-space-size=8',
  `--import=${pathToFileURL(join(PACKAGE_ROOT, 'bin', 'idle-memory.js'))}`,
];
/**
 * By default glibc keeps the large blocks of memory that are freed, and has a pool for each thread: with these, a worker
 * at rest takes 25 MB less, and the other roles 10 MB. Other systems overlook them.
 */
const MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' };
export const ENTRY = join(PACKAGE_ROOT, 'bin', 'fetch.js');
/**
 * What only takes messages first, then side by side what may have steps under way, which need the servers to say how
 * they ended, then these.
 */
export const STOP_ORDER = ['messages', 'work', 'temporal', 'postgres'] as const;
/** The time that a role needs to close after its work has ended. */
const CLOSE_MS = 9_000;
/** The longest that a stop in order takes, ms: two groups of roles whose work is waited for, and the servers. */
export const longestStopMs = (config: Config): number => 2 * (config.FETCH_STOP_SECONDS * 1000 + CLOSE_MS) + 6_500;

export const temporalProgram = (config: Config, binary: TemporalBinary, ui: UiAddress): ProgramSpec => ({
  roles: ['temporal'],
  log: 'temporal',
  file: binary.path,
  args: devServerArguments({
    home: config.FETCH_HOME,
    server: binary.server,
    port: config.FETCH_TEMPORAL_PORT,
    ui,
    namespace: config.TEMPORAL_NAMESPACE,
  }),
  // by default Go lets garbage grow to as much as is in use, and gives little of it back
  env: serverEnvironment({ GOGC: '50' }),
  readiness: () => answersOn(config.FETCH_TEMPORAL_PORT),
  address: `127.0.0.1:${config.FETCH_TEMPORAL_PORT}`,
  stops: 'temporal',
  stopSignal: 'SIGTERM',
  stopLimitMs: 2_500,
});

export const postgresProgram = (config: Config, command: PostgresCommand): ProgramSpec => ({
  roles: ['postgres'],
  log: 'postgres',
  ...command,
  readiness: () => acceptsConnections(config.FETCH_POSTGRES_PORT),
  address: `127.0.0.1:${config.FETCH_POSTGRES_PORT}`,
  stops: 'postgres',
  stopSignal: 'SIGINT',
  stopLimitMs: 4_000,
  before: () => clearStalePostmaster(config.FETCH_HOME),
});

/**
 * Our own roles: the same program with another command, so that they run alike here and on a machine of their own.
 * Gateway, API and kennel share a process unless the setting says otherwise: each process of its own takes some 50 MB.
 * The worker never shares: its model steps and workflows are what keeps a processor busy.
 */
export function ownPrograms(
  env: Record<string, string>,
  config: Config,
  start: { servers: Promise<unknown>; prepared: PromiseWithResolvers<string>; fresh: boolean },
): ProgramSpec[] {
  const { servers, prepared, fresh } = start;
  const [first, ...others] = config.FETCH_SEPARATE_PROCESSES ? ONE_EACH : TOGETHER;
  const onPreparation = (message: RoleMessage) => {
    if (message.type === 'ready') prepared.resolve(message.address ?? '');
    if (message.type === 'failed') prepared.reject(new Error(message.error));
  };
  return [
    { ...ownProgram(['--prepare', ...(fresh ? ['--fresh'] : [])], first, env, config), after: servers, onPreparation },
    ...others.map((roles) => ({ ...ownProgram([], roles, env, config), after: prepared.promise })),
  ];
}

type Together = readonly [OwnRole, ...OwnRole[]];
// the first of them prepares the servers: it is the lighter one to load
const TOGETHER: readonly [Together, ...Together[]] = [['gateway', 'api', 'kennel'], ['worker']];
const ONE_EACH: readonly [Together, ...Together[]] = [['gateway'], ['worker'], ['api'], ['kennel']];

function ownProgram(flags: string[], roles: Together, env: Record<string, string>, config: Config): ProgramSpec {
  const [role] = roles;
  const alone = roles.length === 1;
  return {
    roles,
    log: alone ? role : 'roles',
    ...ownCommand(['roles', '--supervised', ...flags, ...roles], { ...MALLOC, ...env }),
    readiness: 'message',
    address: null,
    stops: alone && (role === 'gateway' || role === 'api') ? 'messages' : 'work',
    stopSignal: 'SIGTERM',
    stopLimitMs: alone && role === 'api' ? 4_000 : config.FETCH_STOP_SECONDS * 1000 + CLOSE_MS,
  };
}

export const ownCommand = (
  args: readonly string[],
  env: Record<string, string>,
): { file: string; args: string[]; env: Record<string, string> } => ({
  file: process.execPath,
  args: [...NODE_FLAGS, ENTRY, ...args],
  env,
});

/**
 * What was decided at start reaches every child as environment, so that a restarted role has the settings of its
 * fellows.
 */
export function roleEnvironment(
  config: Config,
  decided: { temporalAddress: string; databaseUrl: string },
): Record<string, string> {
  const env: Record<string, string> = {};
  const sources = sourcesOf(config);
  for (const name of Object.keys(settings) as Array<keyof typeof settings>) {
    const value = config[name];
    if (value !== undefined && value !== '') env[name] = String(value);
  }
  return childEnvironment({
    FETCH_WORKSPACE: process.cwd(),
    // glibc keeps an arena of freed memory for each thread, and the engine's client has many
    MALLOC_ARENA_MAX: '2',
    ...env,
    TEMPORAL_ADDRESS: decided.temporalAddress,
    DATABASE_URL: decided.databaseUrl,
    [FROM_FILE]: Object.keys(sources)
      .filter((name) => sources[name] === 'file' || (sources[name] === 'default' && !DECIDED.has(name)))
      .join(','),
  });
}

/** Settings that a start decides where nobody set them. */
const DECIDED: ReadonlySet<string> = new Set(['FETCH_HOME', 'FETCH_WORKSPACE', 'TEMPORAL_ADDRESS', 'DATABASE_URL']);
