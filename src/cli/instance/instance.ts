import { homedir } from 'node:os';
import { join } from 'node:path';
import type { PayloadCodec } from '@temporalio/common';
import { databaseVersion } from '../../../temporal/dev-server.ts';
import { provideTemporal } from '../../../temporal/server.ts';
import { BUILT_SERVER, CLI_VERSION, type TemporalBinary } from '../../../temporal/version.ts';
import { type Config, ConfigError, childEnvironment, renewConfig } from '../../config.ts';
import { UserError } from '../../contracts/user-error.ts';
import { ensureHome, ensureSecret, ensureToken } from './home/home.ts';
import { requireNotMoved } from './home/moved.ts';
import { makePayloadKey, readPayloadKeys } from './home/payload-keys.ts';
import { endProcess, startTimeOf } from './home/process-identity.ts';
import { claimHome, HeldError } from './home/start-lock.ts';
import {
  endLeftovers,
  liveRunState,
  type RoleStatus,
  readRunState,
  removeRunState,
  type Urls,
} from './home/state-file.ts';
import type { Reporter } from './progress.ts';
import { type PortNeed, portHolder, requirePorts } from './servers/ports.ts';
import { clearStalePostmaster, databaseUrl, preparePostgres } from './servers/postgres.ts';
import { hiddenAddress, serveUi, type UiAddress, type UiProxy } from './servers/ui-proxy.ts';
import { ownPrograms, postgresProgram, roleEnvironment, temporalProgram } from './supervisor/programs.ts';
import { createSupervisor, type Supervisor } from './supervisor/supervisor.ts';
import { urlsOf } from './urls.ts';

export interface Instance {
  supervisor: Supervisor;
  urls: Urls;
  runtimeToken: string;
  /** stops every role and takes the record away */
  stop(): Promise<void>;
  /** while it stops: waits for nothing any more */
  hurry(): void;
}

/** Another process runs this home, or is just starting to. */
const alreadyRuns = (home: string, pid: number, urls: Urls | null): UserError =>
  new UserError(
    urls
      ? `Fetch already runs for ${home} (process ${pid}, ${urls.runtime}). Open a chat with it: fetch chat. End it: fetch stop. Or start a second one with another --home.`
      : `Process ${pid} is just starting Fetch for ${home}. Open a chat with it when it is ready: fetch chat. End it: fetch stop. Or start a second one with another --home.`,
  );

/** Makes this process the one that runs the home; @throws UserError when another is. */
export async function claimOrExplain(home: string): Promise<{ release(): void }> {
  try {
    return await claimHome(home);
  } catch (error) {
    if (!(error instanceof HeldError)) throw error;
    const state = readRunState(home);
    throw alreadyRuns(home, error.holder.pid, state?.supervisor.pid === error.holder.pid ? state.urls : null);
  }
}

/** Downloads and builds are kept here for all homes of this user. */
export const temporalCache = (env: Record<string, string>): string =>
  join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'fetch', `temporal-${CLI_VERSION}-${BUILT_SERVER}`);

/**
 * Brings a whole instance up: servers, namespace and tables, roles; the caller has claimed the home. Rejects, with
 * everything stopped again, when that is not possible.
 */
export async function startInstance(
  config: Config,
  report: Reporter,
  options: { onChange?: (role: RoleStatus) => void; signal?: AbortSignal; log?: string | null } = {},
): Promise<Instance> {
  const home = config.FETCH_HOME;
  if (config.FETCH_BUILD_ID !== undefined)
    throw new ConfigError([
      'FETCH_BUILD_ID: is for `fetch worker` alone. `fetch start` runs one worker, which would get no work with it: unset it.',
    ]);
  if (config.FETCH_TEMPORAL_UI_URL !== undefined && !config.TEMPORAL_ADDRESS)
    throw new ConfigError([
      'FETCH_TEMPORAL_UI_URL: is for a Temporal server of your own (TEMPORAL_ADDRESS). The embedded one brings its Web UI: unset it.',
    ]);
  ensureHome(home);
  requireNotMoved(home);
  const running = await liveRunState(home);
  if (running) throw alreadyRuns(home, running.supervisor.pid, running.urls);
  await freeTheWay(config, report);
  const runtimeToken = ensureToken(home, 'runtime-token', config.runtimeToken);
  ensureToken(home, 'admin-token', config.ADMIN_TOKEN);
  ensureSecret(home, 'chat-key');
  if (makePayloadKey(config) && databaseVersion(home)) {
    report.warn(
      'From now on Temporal stores what it is given encrypted. Before you go back to an older release, read "Going back" in docs/running.md.',
    );
  }

  const urls = urlsOf(config);
  let restarting = false;
  const supervisor: Supervisor = await createSupervisor({
    home,
    urls,
    log: options.log,
    onChange: options.onChange,
    onRestart: () => {
      if (restarting) return;
      restarting = true;
      void restartRoles(config, { supervisor, urls, report }).finally(() => {
        restarting = false;
      });
    },
  });
  let ui: UiProxy | undefined;
  const stop = async () => {
    await ui?.close();
    await supervisor.stopAll();
    removeRunState(home);
  };
  const stopped = new Promise<never>((_, reject) => {
    const abort = () => reject(new Error('Stopped while starting.'));
    if (options.signal?.aborted) abort();
    options.signal?.addEventListener('abort', abort, { once: true });
  });
  try {
    const hidden = await hiddenAddress();
    await Promise.race([bringUp(config, supervisor, report, hidden), stopped]);
    if (!config.TEMPORAL_ADDRESS) ui = await uiOf(config, hidden);
  } catch (error) {
    await stop();
    throw error;
  }
  return { supervisor, urls, runtimeToken, stop, hurry: supervisor.hurry };
}

const uiOf = (config: Config, target: UiAddress): Promise<UiProxy> =>
  serveUi({
    port: config.FETCH_TEMPORAL_UI_PORT,
    target: new URL(`http://${target.ip}:${target.port}`),
    token: ensureToken(config.FETCH_HOME, 'ui-token'),
    namespace: config.TEMPORAL_NAMESPACE,
    codec: codecOf(config),
  });

/** Loaded when the Web UI first asks: the types of Temporal's protocol take 10 MB. */
function codecOf(config: Config): PayloadCodec {
  const codec = async () =>
    (await import('../../adapters/payloads/codec.ts')).createPayloadCodec(() => readPayloadKeys(config));
  return {
    encode: async (payloads) => (await codec()).encode(payloads),
    decode: async (payloads) => (await codec()).decode(payloads),
  };
}

/**
 * Ends what a killed start of this home has left behind, and sees that every port is free; the caller has claimed the
 * home. Throws UserError.
 */
export async function freeTheWay(config: Config, report: Reporter): Promise<void> {
  const home = config.FETCH_HOME;
  const ended = await endLeftovers(home);
  if (ended.length > 0) report.warn(`Ended what an earlier start had left running: ${ended.join(', ')}`);
  if (!config.DATABASE_URL) await clearStalePostmaster(home);
  if (!config.TEMPORAL_ADDRESS) await endOwnServer(config);
  await requirePorts(portNeeds(config));
  removeRunState(home);
}

/** Starts our own roles again with the settings of now. A mistake in the file is told, and nothing stops. */
async function restartRoles(
  config: Config,
  { supervisor, urls, report }: { supervisor: Supervisor; urls: Urls; report: Reporter },
): Promise<void> {
  try {
    renewConfig(config);
    // the record of this run shows them
    Object.assign(urls, urlsOf(config));
  } catch (error) {
    return report.warn((error as Error).message);
  }
  const prepared = Promise.withResolvers<string>();
  // a role says by itself what it lacks
  prepared.promise.catch((error: Error) => report.warn(error.message));
  await supervisor.restart(() =>
    ownPrograms(environmentOf(config), config, { servers: Promise.resolve(), prepared, fresh: false }),
  );
}

const environmentOf = (config: Config): Record<string, string> =>
  roleEnvironment(config, {
    temporalAddress: config.TEMPORAL_ADDRESS ?? `127.0.0.1:${config.FETCH_TEMPORAL_PORT}`,
    databaseUrl: config.DATABASE_URL ?? databaseUrl(config.FETCH_HOME, config.FETCH_POSTGRES_PORT),
  });

async function bringUp(config: Config, supervisor: Supervisor, report: Reporter, ui: UiAddress): Promise<void> {
  const home = config.FETCH_HOME;
  const prepared = Promise.withResolvers<string>();
  // the start may have failed before anybody waits for it
  prepared.promise.catch(() => {});
  // read before the server makes its file
  const fresh = !config.TEMPORAL_ADDRESS && databaseVersion(home) === null;
  const servers = Promise.all([
    config.TEMPORAL_ADDRESS ? external('temporal', config.TEMPORAL_ADDRESS) : embeddedTemporal(),
    config.DATABASE_URL ? external('postgres', new URL(config.DATABASE_URL).host) : embeddedPostgres(),
  ]);
  // they load their code while the servers come up, and connect when these answer
  for (const program of ownPrograms(environmentOf(config), config, { servers, prepared, fresh }))
    supervisor.start(program);
  await servers;
  report.progress({ text: 'Preparing namespace and tables' });
  const warnings = await prepared.promise;
  if (warnings) report.warn(warnings);
  report.progress({ text: 'Starting worker, gateway and API' });
  // a chat needs no containers: the kennel says by itself what it lacks
  await supervisor.whenReady('worker', 'gateway', 'api');
  report.done('Worker, gateway and API are ready');

  function external(name: 'temporal' | 'postgres', address: string): void {
    supervisor.external(name, address);
    report.done(`Using the ${name === 'temporal' ? 'Temporal server' : 'PostgreSQL'} at ${address}`);
  }
  async function embeddedTemporal(): Promise<void> {
    report.progress({ text: 'Temporal server: looking for one' });
    const previous = databaseVersion(home);
    const binary = await embeddedServer(home, report);
    if (previous && !binary.server.startsWith(`${previous}.`)) {
      report.warn(
        `Temporal ${binary.server} begins with a file of its own. Chats, tasks, questions and schedules come back from PostgreSQL within a minute. The file of ${previous} stays in ${home}; delete it when all is well.`,
      );
    }
    supervisor.start(temporalProgram(config, binary, ui));
    await supervisor.whenReady('temporal');
    report.done(`Temporal server ${binary.server} (${binary.path})`);
  }
  async function embeddedPostgres(): Promise<void> {
    report.progress({ text: 'PostgreSQL: preparing the database' });
    supervisor.start(postgresProgram(config, await preparePostgres(home, config.FETCH_POSTGRES_PORT)));
    await supervisor.whenReady('postgres');
    report.done('PostgreSQL is ready');
  }
}

/** The program of the embedded Temporal server. The first time it is fetched or built, which takes minutes. */
export function embeddedServer(home: string, report: Reporter): Promise<TemporalBinary> {
  const env = childEnvironment({});
  return provideTemporal({
    home,
    cache: temporalCache(env),
    env,
    preferServer: databaseVersion(home),
    onProgress: report.progress,
  });
}

/** The ports that this process will open; a server that runs elsewhere needs none. */
export function portNeeds(config: Config): PortNeed[] {
  const local = '127.0.0.1';
  const ui = {
    port: config.FETCH_TEMPORAL_UI_PORT,
    purpose: 'the Temporal Web UI',
    setting: 'FETCH_TEMPORAL_UI_PORT',
    flag: '--temporal-ui-port',
  } as const;
  return [
    {
      port: config.FETCH_RUNTIME_PORT,
      host: config.runtimeHost,
      purpose: 'the runtime API',
      setting: 'FETCH_RUNTIME_PORT',
      flag: '--runtime-port',
    },
    {
      port: config.FETCH_STATUS_PORT,
      host: config.FETCH_HOST,
      purpose: 'the status API',
      setting: 'FETCH_STATUS_PORT',
      flag: '--status-port',
    },
    ...(config.TEMPORAL_ADDRESS
      ? config.FETCH_TEMPORAL_UI_URL === undefined
        ? []
        : [{ ...ui, host: config.FETCH_HOST }]
      : [
          {
            port: config.FETCH_TEMPORAL_PORT,
            host: local,
            purpose: 'the Temporal server',
            setting: 'FETCH_TEMPORAL_PORT',
            flag: '--temporal-port',
          },
          { ...ui, host: local },
        ]),
    ...(config.DATABASE_URL
      ? []
      : [
          {
            port: config.FETCH_POSTGRES_PORT,
            host: local,
            purpose: 'PostgreSQL',
            setting: 'FETCH_POSTGRES_PORT',
            flag: '--postgres-port',
          },
        ]),
  ];
}

/**
 * A supervisor killed between spawning its server and writing that down leaves one that only its database file tells as
 * ours.
 */
async function endOwnServer(config: Config): Promise<void> {
  const holder = await portHolder(config.FETCH_TEMPORAL_PORT);
  if (!holder?.command.includes(`--db-filename ${join(config.FETCH_HOME, 'temporal-')}`)) return;
  const startTime = await startTimeOf(holder.pid);
  if (startTime) await endProcess({ pid: holder.pid, startTime });
}
