import { join } from 'node:path';
import { devServerArguments } from '../../../temporal/dev-server.ts';
import type { TemporalBinary } from '../../../temporal/version.ts';
import { type Config, childEnvironment, serverEnvironment, settings } from '../../config.ts';
import { PACKAGE_ROOT } from '../../installation.ts';
import { answersOn } from './ports.ts';
import { acceptsConnections, clearStalePostmaster, type PostgresCommand } from './postgres.ts';
import type { RoleName } from './state-file.ts';
import type { UiAddress } from './ui-proxy.ts';

export interface RoleSpec {
  name: RoleName;
  file: string;
  args: string[];
  env: Record<string, string>;
  uid?: number;
  gid?: number;
  /** how it says that it serves: our own roles send a message, the others are asked */
  readiness: 'message' | (() => Promise<boolean>);
  /** null: the role's `ready` message brings it */
  address: string | null;
  stopSignal: NodeJS.Signals;
  /** after this long without an end it is killed */
  stopLimitMs: number;
  /** runs before every start */
  before?: () => Promise<void>;
}

const ENTRY = join(PACKAGE_ROOT, 'bin', 'fetch.js');
/** What takes messages first, then side by side what may have steps under way, which need the servers to say how they ended, then these. */
export const STOP_ORDER: ReadonlyArray<readonly RoleName[]> = [['api', 'gateway'], ['kennel', 'worker'], ['temporal'], ['postgres']];
/** What a role takes to close beyond the time that its work is given. */
const CLOSE_MS = 9_000;
/** The longest that a stop in order takes, ms: two groups of roles whose work is waited for, and the servers. */
export const longestStopMs = (config: Config): number => 2 * (config.FETCH_STOP_SECONDS * 1000 + CLOSE_MS) + 6_500;

export const temporalRole = (config: Config, binary: TemporalBinary, ui: UiAddress): RoleSpec => ({
  name: 'temporal',
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
  stopSignal: 'SIGTERM',
  stopLimitMs: 2_500,
});

export const postgresRole = (config: Config, command: PostgresCommand): RoleSpec => ({
  name: 'postgres',
  ...command,
  readiness: () => acceptsConnections(config.FETCH_POSTGRES_PORT),
  address: `127.0.0.1:${config.FETCH_POSTGRES_PORT}`,
  stopSignal: 'SIGINT',
  stopLimitMs: 4_000,
  before: () => clearStalePostmaster(config.FETCH_HOME),
});

/** One of our own roles: the same program with another command, so that it runs alike here and on a machine of its own. */
export const ownRole = (name: 'worker' | 'gateway' | 'api' | 'kennel', env: Record<string, string>, config: Config): RoleSpec => ({
  name,
  // `fetch kennel` is what people ask for images and containers with
  ...ownCommand(name === 'kennel' ? 'kennel-worker' : name, env),
  readiness: 'message',
  address: null,
  stopSignal: 'SIGTERM',
  stopLimitMs: name === 'api' ? 4_000 : config.FETCH_STOP_SECONDS * 1000 + CLOSE_MS,
});

export const ownCommand = (name: string, env: Record<string, string>): { file: string; args: string[]; env: Record<string, string> } => ({
  file: process.execPath,
  args: [ENTRY, name],
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
    // compiled code is kept between starts: a third of a second of CPU for each role
    NODE_COMPILE_CACHE: join(config.FETCH_HOME, 'cache', 'node'),
    ...env,
    TEMPORAL_ADDRESS: decided.temporalAddress,
    DATABASE_URL: decided.databaseUrl,
  });
}
