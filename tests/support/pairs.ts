import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RoleMessage } from '../../src/cli/instance/supervisor/role-process.ts';
import { childEnvironment } from '../../src/config.ts';
import type { Store } from '../../src/store/postgres/database.ts';
import { type ApiCalls, apiCalls, requestAt } from './api-calls.ts';
import { FETCH_SETTING, freePorts } from './app.ts';
import { startTestDatabase } from './database.ts';
import { type ScriptedModel, startScriptedModel } from './scripted-model.ts';
import { startTestTemporal } from './temporal.ts';
import { until, within } from './until.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));

export const PAIRED = ['worker', 'gateway', 'api', 'kennel-worker'] as const;
export type PairedRole = (typeof PAIRED)[number];

/** A process that is started again whenever it ends, as a service manager does it. */
export interface Copy {
  role: PairedRole;
  /** 0 or 1 */
  at: number;
  pid(): number | null;
  /** the present process has said that it serves */
  ready(): boolean;
  /** the end of what all its processes have said */
  output(): string;
}

/**
 * Two of every role, each a process of its own, on one PostgreSQL and one Temporal server: what a cluster of two
 * machines runs.
 */
export interface Pairs extends ApiCalls {
  /** of the first machine; both kennel hosts share it, as on a common disk */
  home: string;
  /** names of the kennel hosts */
  hosts: readonly string[];
  temporalAddress: string;
  store: Store;
  model: ScriptedModel;
  copies: readonly Copy[];
  copy(role: PairedRole, at: number): Copy;
  close(): Promise<void>;
}

/** Nothing is the same on both machines but these and what the caller sets. */
const SHARED = { FETCH_RUNTIME_TOKEN: 'test-token', FETCH_ENCRYPTION_KEY: 'ab'.repeat(32) };
const AGAIN_MS = 200;

export async function startPairs(env: Record<string, string> = {}): Promise<Pairs> {
  const homes = [1, 2].map((n) => mkdtempSync(join(tmpdir(), `fetch-pair-${n}-`)));
  const [temporal, database, model, ports] = await Promise.all([
    startTestTemporal(),
    // two of each pool
    startTestDatabase(6, ['max_connections=200']),
    startScriptedModel(),
    freePorts(4),
  ]);
  const hosts = ['one', 'two'];
  const clean = Object.fromEntries(
    Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
  );
  const settings = {
    ...SHARED,
    TEMPORAL_ADDRESS: temporal.address,
    DATABASE_URL: database.url,
    FETCH_ALLOW_PRIVATE_URLS: 'true',
    FETCH_STOP_SECONDS: '5',
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_API_KEY: 'test-key',
    AGENT_MODEL: 'scripted',
    FETCH_READ_SECONDS: '0',
    ...env,
  };
  const environment = (role: PairedRole, at: number): Record<string, string> => ({
    ...clean,
    ...settings,
    FETCH_HOME: homes[role === 'kennel-worker' ? 0 : at]!,
    FETCH_KENNEL_HOST: hosts[at]!,
    FETCH_RUNTIME_PORT: String(ports[at * 2]),
    FETCH_STATUS_PORT: String(ports[at * 2 + 1]),
  });
  const kept = PAIRED.flatMap((role) => [0, 1].map((at) => keepRunning(role, at, environment(role, at))));

  let asked = 0;
  const close = async (): Promise<void> => {
    await Promise.all(kept.map((one) => one.end()));
    await Promise.all([database.close(), temporal.close(), model.close()]);
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  };
  const pairs: Pairs = {
    // one request goes to the one API, the next to the other
    ...apiCalls((...call) => {
      asked += 1;
      return requestAt(`http://127.0.0.1:${ports[(asked % 2) * 2]}`, ...call);
    }),
    home: homes[0]!,
    hosts,
    temporalAddress: temporal.address,
    store: database.store,
    model,
    copies: kept.map((one) => one.copy),
    copy: (role, at) => kept.find(({ copy }) => copy.role === role && copy.at === at)!.copy,
    close,
  };
  await allReady(pairs).catch(async (error: Error) => {
    await close();
    throw new Error(
      `${error.message}\n${pairs.copies.filter((copy) => !copy.ready()).map((copy) => `${copy.role} ${copy.at}: ${copy.output()}`)}`,
    );
  });
  return pairs;
}

export const allReady = ({ copies }: Pairs): Promise<unknown> =>
  until('every role is ready', () => copies.every((copy) => copy.ready()), 90_000);

function keepRunning(role: PairedRole, at: number, env: Record<string, string>): { copy: Copy; end(): Promise<void> } {
  let child: ChildProcess;
  let serves = false;
  let said = '';
  let over = false;
  const start = (): void => {
    const started = spawn(process.execPath, [ENTRY, role], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    child = started;
    const keep = (chunk: Buffer): void => {
      said = (said + chunk.toString()).slice(-200_000);
    };
    started.stdout?.on('data', keep);
    started.stderr?.on('data', keep);
    started.on('message', (message: RoleMessage) => {
      if (message.type === 'ready' && child === started) serves = true;
    });
    started.once('exit', () => {
      serves = false;
      if (!over) setTimeout(() => over || start(), AGAIN_MS);
    });
  };
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  start();
  return {
    copy: {
      role,
      at,
      pid: () => (running() ? (child.pid ?? null) : null),
      ready: () => serves && running(),
      output: () => said,
    },
    async end() {
      over = true;
      // one that is frozen must hear it, too
      for (const signal of ['SIGCONT', 'SIGTERM'] as const) child.kill(signal);
      await within(`${role} ${at} has ended`, () => !running(), 20_000).catch(() => child.kill('SIGKILL'));
    },
  };
}
