import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../../src/config.ts';

const run = promisify(execFile);

/** The same as in docker-compose.yml. */
export const TEMPORAL_VERSION = '1.29.7';
const COMPOSE_VERSION = '2.40.3';

export interface Programs {
  compose: string;
  temporalServer: string;
  temporalSqlTool: string;
}

/** Temporal's server, its SQL tool and Docker Compose, built once from their Go modules: none of them is a Debian package, and no registry need be reached. */
export async function providePrograms(): Promise<Programs> {
  const cache = join(homedir(), '.cache', 'fetch', `compose-tests-${TEMPORAL_VERSION}-${COMPOSE_VERSION}`);
  mkdirSync(cache, { recursive: true });
  const programs = {
    compose: join(cache, 'docker-compose'),
    temporalServer: join(cache, 'temporal-server'),
    temporalSqlTool: join(cache, 'temporal-sql-tool'),
  };
  if (!existsSync(programs.temporalServer)) await install(`go.temporal.io/server/cmd/server@v${TEMPORAL_VERSION}`, programs.temporalServer);
  if (!existsSync(programs.temporalSqlTool)) await install(`go.temporal.io/server/cmd/tools/sql@v${TEMPORAL_VERSION}`, programs.temporalSqlTool);
  if (!existsSync(programs.compose)) await buildCompose(programs.compose);
  return programs;
}

const go = (args: string[], cwd: string, env: Record<string, string> = {}) =>
  run('go', args, { cwd, env: childEnvironment({ CGO_ENABLED: '0', GOWORK: 'off', ...env }), maxBuffer: 16 * 1024 * 1024 });

async function install(module: string, file: string): Promise<void> {
  const folder = mkdtempSync(`${file}-`);
  await go(['install', module], folder, { GOBIN: folder });
  renameSync(join(folder, readdirSync(folder)[0]!), file);
  rmSync(folder, { recursive: true });
}

/** Its go.mod has `exclude` lines, which Go accepts only of the module that it builds: so it builds a copy of the source. */
async function buildCompose(file: string): Promise<void> {
  const { stdout } = await go(['mod', 'download', '-json', `github.com/docker/compose/v2@v${COMPOSE_VERSION}`], tmpdir());
  const source = mkdtempSync(`${file}-`);
  cpSync((JSON.parse(stdout) as { Dir: string }).Dir, source, { recursive: true });
  await run('chmod', ['-R', 'u+w', source]);
  await go(['build', '-o', `${file}.new`, './cmd'], source);
  chmodSync(`${file}.new`, 0o755);
  renameSync(`${file}.new`, file);
  rmSync(source, { recursive: true, force: true });
}
