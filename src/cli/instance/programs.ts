import { join } from 'node:path';
import { devServerArguments } from '../../../temporal/dev-server.ts';
import type { TemporalBinary } from '../../../temporal/version.ts';
import { type Config, childEnvironment, serverEnvironment, settings } from '../../config.ts';
import { PACKAGE_ROOT } from '../../installation.ts';
import { answersOn } from './ports.ts';
import { acceptsConnections, clearStalePostmaster, type PostgresCommand } from './postgres.ts';
import type { LogName } from './role-log.ts';
import type { OwnRole, RoleName } from './state-file.ts';
import type { UiAddress } from './ui-proxy.ts';

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
}

/** A young generation of 16 MB and more is never given back: a process that waits most of the time needs no such (docs/performance.md). */
const NODE_FLAGS = ['--max-semi-space-size=2'];
const ENTRY = join(PACKAGE_ROOT, 'bin', 'fetch.js');
/** What only takes messages first, then side by side what may have steps under way, which need the servers to say how they ended, then these. */
export const STOP_ORDER = ['messages', 'work', 'temporal', 'postgres'] as const;
/** What a role takes to close beyond the time that its work is given. */
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
  env: serverEnvironment({}),
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
 * Our own roles: the same program with another command, so that they run alike here and on a machine of their own. Gateway, API and kennel share
 * a process unless the setting says otherwise: each process of its own takes some 50 MB. The worker never shares: its model steps and workflows
 * are what keeps a processor busy.
 */
export const ownPrograms = (env: Record<string, string>, config: Config): ProgramSpec[] =>
  (config.FETCH_SEPARATE_PROCESSES ? ONE_EACH : TOGETHER).map((roles) => ownProgram(roles, env, config));

const ONE_EACH: ReadonlyArray<readonly OwnRole[]> = [['worker'], ['gateway'], ['api'], ['kennel']];
const TOGETHER: ReadonlyArray<readonly OwnRole[]> = [['worker'], ['gateway', 'api', 'kennel']];

function ownProgram(roles: readonly OwnRole[], env: Record<string, string>, config: Config): ProgramSpec {
  const [role] = roles;
  const alone = roles.length === 1;
  return {
    roles,
    log: alone ? role! : 'roles',
    ...ownCommand(['roles', ...roles], env),
    readiness: 'message',
    address: null,
    stops: alone && (role === 'gateway' || role === 'api') ? 'messages' : 'work',
    stopSignal: 'SIGTERM',
    stopLimitMs: alone && role === 'api' ? 4_000 : config.FETCH_STOP_SECONDS * 1000 + CLOSE_MS,
  };
}

export const ownCommand = (args: readonly string[], env: Record<string, string>): { file: string; args: string[]; env: Record<string, string> } => ({
  file: process.execPath,
  args: [...NODE_FLAGS, ENTRY, ...args],
  env,
});

/** What was decided at start reaches every child as environment, so that a restarted role has the settings of its fellows. */
export function roleEnvironment(config: Config, decided: { temporalAddress: string; databaseUrl: string }): Record<string, string> {
  const env: Record<string, string> = {};
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
  });
}
