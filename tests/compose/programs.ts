import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../../src/config.ts';

const run = promisify(execFile);

/** The same as in docker-compose.yml. */
export const TEMPORAL_VERSION = '1.29.7';
export const TEMPORAL_UI_VERSION = '2.49.1';
const COMPOSE_VERSION = '2.40.3';

export interface Programs {
  compose: string;
  temporalServer: string;
  temporalSqlTool: string;
  /** Temporal's Web UI with its pages in it, and the start script and settings of its image */
  temporalUi: { server: string; start: string; settings: string };
}

/**
 * Temporal's server, its SQL tool, its Web UI and Docker Compose, built once from their Go modules: none of them is a
 * Debian package, and no registry need be reached.
 */
export async function providePrograms(): Promise<Programs> {
  const cache = join(homedir(), '.cache', 'fetch', `compose-tests-${TEMPORAL_VERSION}-${COMPOSE_VERSION}`);
  mkdirSync(cache, { recursive: true });
  const programs = {
    compose: join(cache, 'docker-compose'),
    temporalServer: join(cache, 'temporal-server'),
    temporalSqlTool: join(cache, 'temporal-sql-tool'),
    temporalUi: await provideUi(),
  };
  if (!existsSync(programs.temporalServer))
    await install(`go.temporal.io/server/cmd/server@v${TEMPORAL_VERSION}`, programs.temporalServer);
  if (!existsSync(programs.temporalSqlTool))
    await install(`go.temporal.io/server/cmd/tools/sql@v${TEMPORAL_VERSION}`, programs.temporalSqlTool);
  if (!existsSync(programs.compose)) await buildCompose(programs.compose);
  return programs;
}

async function provideUi(): Promise<Programs['temporalUi']> {
  const cache = join(homedir(), '.cache', 'fetch', `compose-tests-ui-${TEMPORAL_UI_VERSION}`);
  mkdirSync(cache, { recursive: true });
  const ui = {
    server: join(cache, 'ui-server'),
    start: join(cache, 'start-ui-server.sh'),
    settings: join(cache, 'docker.yaml'),
  };
  if (existsSync(ui.server)) return ui;
  const source = await sourceOf(`github.com/temporalio/ui-server/v2@v${TEMPORAL_UI_VERSION}`);
  cpSync(join(source, 'docker', 'start-ui-server.sh'), ui.start);
  cpSync(join(source, 'config', 'docker.yaml'), ui.settings);
  chmodSync(ui.start, 0o755);
  chmodSync(ui.settings, 0o644);
  await install(`github.com/temporalio/ui-server/v2/cmd/server@v${TEMPORAL_UI_VERSION}`, ui.server);
  return ui;
}

const go = (args: string[], cwd: string, env: Record<string, string> = {}) =>
  run('go', args, {
    cwd,
    env: childEnvironment({ CGO_ENABLED: '0', GOWORK: 'off', ...env }),
    maxBuffer: 16 * 1024 * 1024,
  });

/** The folder of a module in Go's cache, which can only be read. */
async function sourceOf(module: string): Promise<string> {
  const { stdout } = await go(['mod', 'download', '-json', module], tmpdir());
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

async function install(module: string, file: string): Promise<void> {
  const folder = mkdtempSync(`${file}-`);
  await go(['install', module], folder, { GOBIN: folder });
  renameSync(join(folder, readdirSync(folder)[0]!), file);
  rmSync(folder, { recursive: true });
}

/**
 * Its go.mod has `exclude` lines, which Go accepts only of the module that it builds: so it builds a copy of the
 * source.
 */
async function buildCompose(file: string): Promise<void> {
  const source = mkdtempSync(`${file}-`);
  cpSync(await sourceOf(`github.com/docker/compose/v2@v${COMPOSE_VERSION}`), source, { recursive: true });
  await run('chmod', ['-R', 'u+w', source]);
  await go(['build', '-o', `${file}.new`, './cmd'], source);
  chmodSync(`${file}.new`, 0o755);
  renameSync(`${file}.new`, file);
  rmSync(source, { recursive: true, force: true });
}

if (import.meta.main) await providePrograms();
