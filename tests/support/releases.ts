import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { createDeliver } from '../../src/activities/deliver.ts';
import { workerActivities } from '../../src/activities/queues.ts';
import { openModel } from '../../src/adapters/model/endpoint/open-model.ts';
import { temporalCache } from '../../src/cli/instance/instance.ts';
import { workerDeployment } from '../../src/cli/roles/temporal/temporal-runtime.ts';
import { type Config, childEnvironment, loadConfig } from '../../src/config.ts';
import { AGENT_QUEUE, gatewayQueue, kennelQueue } from '../../src/contracts/ids.ts';
import { screenSender } from '../../src/gateway/channels/registry.ts';
import { createIntake, type Intake } from '../../src/gateway/intake/intake.ts';
import { reportHost } from '../../src/store/kennel/hosts.ts';
import type { Store } from '../../src/store/postgres/database.ts';
import { devServerArguments } from '../../temporal/dev-server.ts';
import { prepareNamespace } from '../../temporal/namespace.ts';
import { provideTemporal } from '../../temporal/server.ts';
import { freePorts } from './app.ts';
import { startTestDatabase } from './database.ts';
import { kennelStandIn } from './kennel-standin.ts';
import { type ScriptedModel, startScriptedModel } from './scripted-model.ts';
import { until } from './until.ts';

/**
 * Everything of an instance but its supervisor: real PostgreSQL and Temporal servers, the gateway's intake and sends,
 * and as many workers as a test wants, each with the workflow code of a release. Coding tasks run on a host without
 * containers.
 */
export interface Releases {
  store: Store;
  temporal: Client;
  temporalAddress: string;
  config: Mutable<Config>;
  model: ScriptedModel;
  intake: Intake;
  /** lets a task whose goal is `hold NAME` end */
  release(name: string): void;
  /**
   * starts a worker with this workflow code, in a build where one is named, with these limits. `queues`: which it asks,
   * that of conversations by default
   */
  worker(
    workflowBundle: { code: string },
    buildId?: string,
    limits?: Partial<WorkerOptions>,
    queues?: readonly string[],
  ): Promise<RunningWorker>;
  /** ends the workers that a test left running */
  stopWorkers(): Promise<void>;
  /** puts another Temporal server in place of this one, with an empty file; its old file stays */
  replaceServer(): Promise<void>;
  close(): Promise<void>;
}
export interface RunningWorker {
  /** as SIGTERM does it: resolves when nothing of it is under way */
  stop(): Promise<void>;
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

let installed = false;
function installTestRuntime(): void {
  if (installed) return;
  installed = true;
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => {}),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
    shutdownSignals: [],
  });
}

/** What a test puts in place of the usual activities, or around them. */
interface Replaced {
  /** of the host, beside those of a host without containers */
  host?(known: { store: Store; config: Config; temporal: Client }): object;
  /** around all activities of workers and of the host */
  around?<A extends object>(activities: A): A;
}

export async function startReleases(
  settings: Record<string, string> = {},
  { host: hostActivities, around = (activities) => activities }: Replaced = {},
): Promise<Releases> {
  installTestRuntime();
  const home = mkdtempSync(join(tmpdir(), 'fetch-releases-'));
  const [database, model] = await Promise.all([startTestDatabase(40), startScriptedModel({ skim: true })]);
  const { store } = database;
  const config: Mutable<Config> = {
    ...loadConfig(
      {
        FETCH_HOME: home,
        OPENAI_BASE_URL: model.baseUrl,
        OPENAI_API_KEY: 'test-key',
        AGENT_MODEL: 'scripted',
        FETCH_WORKSPACE: home,
        ...settings,
      },
      {},
    ),
  };
  let server = await startServer(join(home, 'first'));
  let connection = await Connection.connect({ address: server.address });
  let native = await NativeConnection.connect({ address: server.address });
  const temporal = () => new Client({ connection });
  const kennel = kennelStandIn(store.db);
  const host = () =>
    reportHost(store.db, {
      host: config.FETCH_KENNEL_HOST,
      slots: 100,
      ready: true,
      problem: null,
      harnesses: [{ name: 'practice', ready: true, why: null }],
    });
  await host();
  const alive = setInterval(() => void host().catch(() => {}), 5_000);
  let running: RunningWorker[] = [];
  let places: RunningWorker[] = [];

  const started = async (options: Omit<WorkerOptions, 'connection'>): Promise<RunningWorker> => {
    const worker = await Worker.create({
      ...options,
      connection: native,
      maxHeartbeatThrottleInterval: 1000,
      defaultHeartbeatThrottleInterval: 1000,
      stickyQueueScheduleToStartTimeout: 2000,
      shutdownGraceTime: 100,
      shutdownForceTime: 6000,
    });
    // what outlives its own cancellation is left to the next worker
    const ended = worker.run().catch(() => {});
    const self: RunningWorker = {
      stop: async () => {
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await ended;
        running = running.filter((each) => each !== self);
      },
    };
    running.push(self);
    return self;
  };
  const servePlaces = async () => {
    places = [
      await started({
        taskQueue: gatewayQueue('api'),
        activities: {
          deliver: createDeliver({ db: store.db, sender: screenSender, config: { FETCH_TIME_ZONE: 'UTC' } }),
        },
      }),
      await started({
        taskQueue: kennelQueue(config.FETCH_KENNEL_HOST),
        activities: around({ ...kennel.activities, ...hostActivities?.({ store, config, temporal: temporal() }) }),
        maxConcurrentActivityTaskExecutions: 200,
      }),
    ];
  };
  const disconnect = async () => {
    for (const worker of [...running]) await worker.stop();
    await native.close();
    // the client's connection is left open: on a closed one, a call that is to be tried again throws from its timer
    await server.stop();
  };
  await servePlaces();

  return {
    store,
    config,
    model,
    get temporal() {
      return temporal();
    },
    get temporalAddress() {
      return server.address;
    },
    get intake() {
      return createIntake({ db: store.db, temporal: temporal(), config, secret: 'secret' });
    },
    release: kennel.release,
    async worker(workflowBundle, buildId, limits, queues = [AGENT_QUEUE]) {
      const opened = await openModel(config);
      const activities = around(await workerActivities({ db: store.db, temporal: temporal(), config, model: opened }));
      const parts = await Promise.all(
        queues.map((taskQueue) =>
          started({
            taskQueue,
            workflowBundle,
            activities,
            maxConcurrentActivityTaskExecutions: 100,
            maxCachedWorkflows: 400,
            ...limits,
            ...(buildId !== undefined && { workerDeploymentOptions: workerDeployment(buildId, server.version) }),
          }),
        ),
      );
      return { stop: async () => void (await Promise.all(parts.map((part) => part.stop()))) };
    },
    async stopWorkers() {
      for (const worker of running) if (!places.includes(worker)) await worker.stop();
    },
    async replaceServer() {
      await disconnect();
      server = await startServer(join(home, 'second'));
      connection = await Connection.connect({ address: server.address });
      native = await NativeConnection.connect({ address: server.address });
      await servePlaces();
    },
    async close() {
      clearInterval(alive);
      await disconnect();
      await model.close();
      await database.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** An embedded Temporal server as the product starts it, on ports and a file of its own. */
async function startServer(home: string): Promise<{ address: string; version: string; stop(): Promise<void> }> {
  rmSync(home, { recursive: true, force: true });
  const env = childEnvironment({});
  const { path, server } = await provideTemporal({ home, cache: temporalCache(env), env, install: false });
  const folder = mkdtempSync(`${home}-`);
  const [port, uiPort] = await freePorts(2);
  const args = [
    ...devServerArguments({
      home: folder,
      server,
      port: port!,
      ui: { ip: '127.0.0.1', port: uiPort! },
      namespace: 'default',
    }),
    '--headless',
  ];
  const child: ChildProcess = spawn(path, args, { stdio: 'ignore' });
  const address = `127.0.0.1:${port}`;
  await prepareNamespace(address, 'default');
  return {
    address,
    version: server,
    async stop() {
      child.kill('SIGTERM');
      await until(
        'the Temporal server has stopped',
        () => child.exitCode !== null || child.signalCode !== null,
        15_000,
      );
    },
  };
}
