import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { liveRunState, type RoleName, type RunState, readRunState } from '../../src/cli/instance/home/state-file.ts';
import { logFile, logsOf } from '../../src/cli/instance/logs/role-log.ts';
import { databaseUrl, removeCluster } from '../../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../../src/config.ts';
import type { EventEnvelope } from '../../src/contracts/records.ts';
import { openStore, type Store } from '../../src/store/postgres/database.ts';
import { type ApiCalls, apiCalls, requestAt } from './api-calls.ts';
import { copyDatabaseTo } from './made-database.ts';
import { type ScriptedModel, startScriptedModel } from './scripted-model.ts';
import { unfitMessages } from './transcript.ts';
import { until } from './until.ts';

export { callsThen, type Detail, script } from './api-calls.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));
export const FETCH_SETTING =
  /^(FETCH_|TEMPORAL_|DATABASE_URL|OPENAI_|OPENROUTER_|[A-Z]+_MODEL$|ADMIN_TOKEN|DEEPSEEK_|LOG_LEVEL|WA_|WHATSAPP_|WHISPER_|TRANSCRIPTION_|OWNER_|TRUSTED_|ANTHROPIC_|GEMINI_|GOOGLE_GEMINI_|GH_TOKEN|GITHUB_API_URL|OTEL_)/;

/**
 * A whole instance as a person runs it: the supervisor and its roles as processes, on ports and a home of their own,
 * with the scripted model behind it.
 */
export interface TestApp extends ApiCalls {
  home: string;
  /** what it was started with, as environment variables */
  settings: Readonly<Record<string, string>>;
  baseUrl: string;
  statusUrl: string;
  temporalAddress: string;
  temporalUi: string;
  databaseUrl: string;
  model: ScriptedModel;
  store: Store;
  supervisor(): ChildProcess;
  state(): RunState;
  /** SIGKILLs a role by its pid and returns the pid */
  kill(role: RoleName | 'supervisor'): number;
  whenReady(): Promise<void>;
  /** starts the supervisor again after it was killed or stopped */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** one more `fetch start` for the same home; nobody waits for it */
  spawn(): { child: ChildProcess; output: () => string };
  events(threadId: string): Promise<EventEnvelope[]>;
  close(): Promise<void>;
}

/** Where and as whom an instance runs: this user, with this clone and a fresh home, unless another is named. */
export interface Place {
  home?: string;
  node?: string;
  entry?: string;
  uid?: number;
  gid?: number;
  cwd?: string;
  /** the scripted model parses only the end of a request */
  skim?: boolean;
  /** the scripted model wants its state back with each step */
  strict?: boolean;
}

export async function startTestApp(env: Record<string, string> = {}, place: Place = {}): Promise<TestApp> {
  const {
    home = mkdtempSync(join(tmpdir(), 'fetch-test-')),
    node = process.execPath,
    entry = ENTRY,
    skim,
    strict,
    ...user
  } = place;
  if (place.home === undefined && user.uid === undefined && env.DATABASE_URL === undefined) await copyDatabaseTo(home);
  const model = await startScriptedModel({ skim, strict });
  const [runtime, status, temporal, ui, postgres] = await freePorts(5);
  const clean = Object.fromEntries(
    Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
  );
  const settings: Record<string, string> = {
    FETCH_HOME: home,
    FETCH_RUNTIME_PORT: String(runtime),
    FETCH_STATUS_PORT: String(status),
    FETCH_TEMPORAL_PORT: String(temporal),
    FETCH_TEMPORAL_UI_PORT: String(ui),
    FETCH_POSTGRES_PORT: String(postgres),
    FETCH_RUNTIME_TOKEN: 'test-token',
    FETCH_ALLOW_PRIVATE_URLS: 'true',
    // work that still runs at the end of a test belongs to nobody
    FETCH_STOP_SECONDS: '5',
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_API_KEY: 'test-key',
    AGENT_MODEL: 'scripted',
    // a script reads fast; a test of the time that a person needs sets it
    FETCH_READ_SECONDS: '0',
    // whoever runs the tests may have a name in git, and would be asked about it
    GIT_CONFIG_GLOBAL: '/dev/null',
    ...env,
  };
  const baseUrl = `http://127.0.0.1:${runtime}`;
  let child: ChildProcess;
  let output = () => '';
  // the record calls a role ready until the supervisor has seen its end
  const killed = new Set<number>();

  const whenReady = async (): Promise<void> => {
    await until('every role is ready', async () => {
      if (child.exitCode !== null) throw new Error(`the instance ended with code ${child.exitCode}:\n${output()}`);
      const state = await liveRunState(home);
      // a killed supervisor's record stays until the next one has ended the roles that it left behind
      // containers are waited for by those who need them
      const roles = state?.roles.filter((role) => role.name !== 'kennel') ?? [];
      if (roles.length !== 5 || state?.supervisor.pid !== child.pid) return false;
      return roles.every((role) => role.state === 'external' || (role.state === 'ready' && !killed.has(role.pid!)));
    });
  };
  const spawnStart = (): ReturnType<TestApp['spawn']> => {
    let said = '';
    const started = spawn(node, ['--max-semi-space-size=2', entry, 'start'], {
      ...user,
      env: { ...clean, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-20_000);
    };
    started.stdout?.on('data', keep);
    started.stderr?.on('data', keep);
    return { child: started, output: () => said };
  };
  const start = async () => {
    ({ child, output } = spawnStart());
    await whenReady().catch((error) => {
      // nobody would stop it later
      child.kill('SIGTERM');
      throw error;
    });
  };
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await until('the instance has stopped', async () => child.exitCode !== null || child.signalCode !== null, 30_000);
  };
  await start();
  const database = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL ?? databaseUrl(home, postgres!);
  const store = await openStore(database, { max: 4, application: 'fetch-test', migrate: false });

  const calls = apiCalls((...call) => requestAt(baseUrl, ...call));

  return {
    home,
    settings,
    baseUrl,
    statusUrl: `http://127.0.0.1:${status}`,
    temporalAddress: `127.0.0.1:${temporal}`,
    temporalUi: `http://127.0.0.1:${ui}`,
    databaseUrl: database,
    model,
    store,
    supervisor: () => child,
    state: () => readRunState(home)!,
    kill(role) {
      const pid =
        role === 'supervisor' ? child.pid! : readRunState(home)!.roles.find((each) => each.name === role)?.pid;
      if (!pid) throw new Error(`${role} has no pid now`);
      process.kill(pid, 'SIGKILL');
      killed.add(pid);
      return pid;
    },
    whenReady,
    start,
    stop,
    spawn: spawnStart,
    ...calls,
    events: async (threadId) => {
      const { readEvents } = await import('../../src/store/chats/threads/events.ts');
      return readEvents(store.db, threadId, 0, 100_000);
    },
    async close() {
      const unfit = await Promise.race([
        unfitMessages(store).catch(whenAway),
        pause<string[]>(LOOK_MS, [], { ref: false }),
      ]);
      await store.close();
      await stop();
      await model.close();
      removeCluster(home);
      rmSync(home, { recursive: true, force: true });
      if (unfit.length > 0)
        throw new Error(`Messages that speak of the machine (tests/support/transcript.ts):\n${unfit.join('\n')}`);
    },
  };
}

/** A database that a test has frozen answers never. */
const LOOK_MS = 20_000;

/** A test may have ended its database. */
function whenAway(error: { code?: string }): string[] {
  // the statement itself is wrong
  if (error.code?.startsWith('42')) throw error;
  return [];
}

/** The one port of this range that `fetch` refuses to connect to (WHATWG, "port blocking"). */
const BAD_PORT = 10_080;

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
    // below the range that outgoing connections and port 0 draw from, so that nobody takes it between this look and its
    // use
    const port = randomInt(10_000, 32_000);
    if (port !== BAD_PORT && !found.includes(port) && (await isFree(port))) found.push(port);
  }
  return found;
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** What a role has logged: in its own file, or in that of the process that it shares with others. */
export const roleLog = (app: TestApp, role: RoleName): string =>
  logsOf(role)
    .map((name) => logFile(app.home, name))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
