import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { ProvisionError, provideTemporal } from '../../../temporal/server.ts';
import { compareVersions, MIN_SERVER } from '../../../temporal/version.ts';
import { type Config, childEnvironment } from '../../config.ts';
import { rebuildCommand } from '../../installation.ts';
import { currentBot } from '../../store/telegram/bots.ts';
import { directProblem, temporalProblem } from '../instance/connections/problems.ts';
import { temporalEndpoint } from '../instance/connections/servers.ts';
import { lostHead } from '../instance/home/audit-head.ts';
import { diskWarning, requireDiskSpace, requireOwner } from '../instance/home/home.ts';
import { portNeeds, temporalCache } from '../instance/instance.ts';
import { answersOn, isPortFree, portHolder } from '../instance/servers/ports.ts';
import { postgresVersion, SERVER_PACKAGE } from '../instance/servers/postgres.ts';
import { factsOf, withStore } from '../instance/servers/with-store.ts';
import { readStatus } from '../instance/status-report.ts';
import { howItRuns, howText, installedService } from '../setup/background/find-service.ts';
import { backupFinding } from './backup.ts';
import { exitCodeOf, type Finding, printFindings, shownAddress } from './finding.ts';
import { kennelFinding } from './kennel.ts';
import { answersHere } from './server/server-roles.ts';
import { whatsappFinding } from './whatsapp.ts';

/** A check does not wait longer than this for a model. */
const MODEL_PATIENCE_MS = 20_000;

type Check = (config: Config) => Promise<Finding | Finding[]>;

/** Every dependency is tried, not only looked for. */
const checks: Check[] = [
  async () => ok('node', process.versions.node, process.execPath),
  (config) =>
    trying('home', 'make room, or choose another folder: fetch start --home FOLDER', async () =>
      homeFinding(config.FETCH_HOME),
    ),
  (config) =>
    trying(
      'temporal',
      config.TEMPORAL_ADDRESS
        ? 'start that server, or correct TEMPORAL_ADDRESS'
        : 'install the CLI: https://docs.temporal.io/cli#install',
      () => temporalFinding(config),
    ),
  (config) =>
    trying(
      'postgres',
      config.DATABASE_URL ? 'start that server, or correct DATABASE_URL' : rebuildCommand(SERVER_PACKAGE),
      async () => {
        if (config.DATABASE_URL) return postgresAt(config, config.DATABASE_DIRECT_URL ?? config.DATABASE_URL);
        return ok('postgres', (await postgresVersion()).text, 'bundled');
      },
    ),
  () =>
    trying('temporal core', rebuildCommand('@temporalio/core-bridge'), async () => {
      await import('@temporalio/worker');
      return ok('temporal core', null, 'the native part of the worker loads');
    }),
  modelFinding,
  whatsappFinding,
  telegramFinding,
  () => program('git', ['--version'], 'coding tasks need it', 'install git: https://git-scm.com/downloads'),
  kennelFinding,
  runsFinding,
  async (config) => backupFinding(config),
  auditFinding,
  portFindings,
  async (config) => {
    const { serverFindings } = await import('./server/server.ts');
    return await serverFindings(config).catch((error) =>
      missing('servers', `could not be looked at: ${messageOf(error)}`, 'see the findings above'),
    );
  },
];

/** Telegram, where a bot is set: whether the gateway reads its messages. */
async function telegramFinding(config: Config): Promise<Finding[]> {
  if (!config.FETCH_TELEGRAM_TOKEN) return [];
  const bot = await withStore(config, 'fetch-doctor', ({ db }) => currentBot(db)).catch(() => undefined);
  if (!bot) return [ok('telegram', null, 'a token is set; its state is known while Fetch runs')];
  if (bot.problem)
    return [{ name: 'telegram', state: 'warning', version: null, detail: bot.problem, mend: 'fetch logs gateway' }];
  return [ok('telegram', null, `@${bot.username}; say telegram in the chat to open it on your phone`)];
}

/** Whether the newest entry of the audit log that this home knows is still there. It is known while Fetch runs. */
async function auditFinding(config: Config): Promise<Finding[]> {
  const lost = await withStore(config, 'fetch-doctor', ({ db }) => lostHead(db, config.FETCH_HOME)).catch(() => null);
  if (!lost) return [];
  const what = `entry ${lost.seq} was there and is not any more, or is another one`;
  return [missing('audit log', what, 'somebody has changed the database: fetch audit verify')];
}

export async function diagnose(config: Config): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => check(config)))).flat();
}

/** `fetch doctor`; the exit code is 1 when something needed is missing. */
export async function run(config: Config, options: { json?: boolean }): Promise<void> {
  const findings = await diagnose(config);
  if (!options.json) {
    process.exitCode = printFindings(findings);
    return;
  }
  const { capabilities } = await import('./capabilities.ts');
  process.stdout.write(
    `${JSON.stringify({ ...(await capabilities(config, findings)), ok: exitCodeOf(findings) === 0, findings })}\n`,
  );
  process.exitCode = exitCodeOf(findings);
}

const ok = (name: string, version: string | null, detail: string): Finding => ({
  name,
  state: 'ok',
  version,
  detail,
  mend: null,
});
const missing = (name: string, detail: string, mend: string): Finding => ({
  name,
  state: 'missing',
  version: null,
  detail,
  mend,
});

async function trying(name: string, mend: string, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return missing(name, messageOf(error), mend);
  }
}

/** Several addresses of one name fail as one error without a message of its own. */
const messageOf = (error: unknown): string =>
  error instanceof AggregateError ? error.errors.map(messageOf).join('; ') : (error as Error).message;

async function homeFinding(home: string): Promise<Finding> {
  let folder = home;
  for (;;) {
    try {
      requireOwner(folder);
      accessSync(folder, constants.W_OK);
      if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
      break;
    } catch (error) {
      // it does not exist yet, so its parent must allow creating it
      const parent = folder.slice(0, Math.max(1, folder.lastIndexOf('/')));
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === folder) throw error;
      folder = parent;
    }
  }
  const full = diskWarning(folder);
  if (full) throw new Error(full);
  requireDiskSpace(folder);
  const { bavail, bsize } = statfsSync(folder);
  return ok('home', null, `${home}, ${Math.floor((bavail * bsize) / 1e9)} GB free`);
}

async function temporalFinding(config: Config): Promise<Finding> {
  if (config.TEMPORAL_ADDRESS) {
    const { Connection } = await import('@temporalio/client');
    const connection = await Connection.connect({ ...temporalEndpoint(config), connectTimeout: 5_000 }).catch(
      async (error) => {
        throw await temporalProblem(config, error);
      },
    );
    const { serverVersion } = await connection.workflowService.getSystemInfo({});
    await connection.close();
    if (serverVersion && compareVersions(serverVersion, MIN_SERVER) < 0)
      return missing(
        'temporal',
        `the server at ${config.TEMPORAL_ADDRESS} is ${serverVersion}; ${MIN_SERVER} or newer is needed`,
        'upgrade it, or unset TEMPORAL_ADDRESS',
      );
    return ok('temporal', serverVersion ?? null, `the server at ${config.TEMPORAL_ADDRESS}`);
  }
  const env = childEnvironment({});
  try {
    const binary = await provideTemporal({ home: config.FETCH_HOME, cache: temporalCache(env), env, install: false });
    return ok('temporal', binary.server, binary.path);
  } catch (error) {
    const misfits = error instanceof ProvisionError ? error.attempts.map(({ reason }) => reason).join('; ') : '';
    return {
      name: 'temporal',
      state: 'warning',
      version: null,
      detail: `no server that fits yet (${misfits}); the first start fetches one`,
      mend: 'fetch start',
    };
  }
}

async function postgresAt(config: Config, url: string): Promise<Finding> {
  const { openStore } = await import('../../store/postgres/database.ts');
  const { readServerFacts } = await import('../../store/home/operations.ts');
  const store = await openStore(url, { max: 1, application: 'fetch-doctor', migrate: false }).catch(async (error) => {
    throw await directProblem(config, error);
  });
  try {
    const { version } = await readServerFacts(store.db);
    return ok('postgres', version, `the server at ${new URL(url).host}`);
  } finally {
    await store.close();
  }
}

/** A real question with a tool, because an endpoint may list its models to everybody and still refuse the key. */
async function modelFinding(config: Config): Promise<Finding> {
  const { endpointOf, PRACTICE } = await import('../../adapters/model/endpoint/endpoint.ts');
  const endpoint = endpointOf(config);
  const mend = 'fetch setup';
  if (!endpoint)
    return {
      name: 'model',
      state: 'warning',
      version: null,
      detail: 'none is configured: the practice model answers',
      mend,
    };
  const { verifyModel } = await import('../../adapters/model/endpoint/discover.ts');
  const model = config.AGENT_MODEL === PRACTICE ? undefined : config.AGENT_MODEL;
  const result = await verifyModel({ ...config, AGENT_MODEL: model } as never, MODEL_PATIENCE_MS, factsOf(config));
  if (!result.ok) return missing('model', `${shownAddress(endpoint.baseUrl)}: ${result.error}`, mend);
  const found = ok(
    'model',
    result.model,
    [shownAddress(endpoint.baseUrl), result.price, ...(result.learned ? [result.learned] : [])].join('; '),
  );
  return result.price.startsWith('price not known')
    ? { ...found, state: 'warning', mend: 'FETCH_MODEL_PRICE=INPUT,OUTPUT in US dollars per million tokens' }
    : found;
}

async function program(name: string, args: string[], need: string, mend: string): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)(name, args, { timeout: 5_000, env: childEnvironment({}) });
    return ok(name, /(?<!\d)\d+(\.\d+)+/.exec(stdout)?.[0] ?? null, '');
  } catch {
    return { name, state: 'warning', version: null, detail: `not there or not running; ${need}`, mend };
  }
}

/** Whether it runs and restarts without a terminal. */
async function runsFinding(config: Config): Promise<Finding> {
  const how = await howItRuns(config.FETCH_HOME);
  const warning = (detail: string, mend: string | null): Finding => ({
    name: 'runs',
    state: 'warning',
    version: null,
    detail,
    mend,
  });
  const service = installedService(config.FETCH_HOME);
  // Node or Fetch was moved since
  const lost = service?.programs().filter((program) => !existsSync(program)) ?? [];
  if (lost.length > 0)
    return warning(
      `the service ${how.service} starts ${lost.join(' and ')}, which is not there any more`,
      'fetch up --at-login',
    );
  if (how.bound) return warning(how.bound.text, how.bound.mend);
  return ok(
    'runs',
    null,
    how.by === null ? `not running${how.service ? `; the service ${how.service} starts it` : ''}` : howText(how),
  );
}

const singleRoles = (config: Config): boolean => Boolean(config.TEMPORAL_ADDRESS && config.DATABASE_URL);

/** A port is fine when it is free or our own instance holds it. */
async function portFindings(config: Config): Promise<Finding[]> {
  // a single role has no record of its own
  const running = (await readStatus(config)).running || (singleRoles(config) && (await answersHere(config)));
  return Promise.all(
    portNeeds(config).map(async ({ port, host, purpose, setting, flag }) => {
      const name = `port ${port}`;
      if (await isPortFree(port, host).catch(() => false)) return ok(name, null, `${purpose}: free`);
      if (running && (await answersOn(port))) return ok(name, null, `${purpose}: in use by this instance`);
      const holder = await portHolder(port);
      return missing(
        name,
        `${purpose}: taken by ${holder ? `process ${holder.pid} (${holder.command.slice(0, 80)})` : 'another user'}`,
        `${setting}=${port + 100} (or ${flag} ${port + 100})`,
      );
    }),
  );
}
