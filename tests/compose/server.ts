import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment } from '../../src/config.ts';
import { type ApiCalls, apiCalls, requestAt } from '../support/api-calls.ts';
import { freePorts } from '../support/app.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const MB = 1024 * 1024;

export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await run('docker', args, { env: childEnvironment({ DOCKER_BUILDKIT: '0' }), maxBuffer: 64 * MB });
  return stdout.trim();
}

/** Everything that runs for long, in the order of their start. */
export const SERVICES = ['postgres', 'temporal', 'worker', 'gateway', 'api', 'kennel'] as const;
/** Those that run our image. */
export const ROLES = ['worker', 'gateway', 'api', 'kennel'] as const;
/** What profiles add, apart from Grafana. */
export const ADDED = ['temporal-ui', 'searxng', 'prometheus'] as const;
export type Service = (typeof SERVICES)[number] | (typeof ADDED)[number];

/** Of this machine, on loopback. */
interface Ports {
  runtime: number;
  status: number;
  ui: number;
  prometheus: number;
}

export async function serverPorts(): Promise<Ports> {
  const [runtime, status, ui, prometheus] = await freePorts(4);
  return { runtime: runtime!, status: status!, ui: ui!, prometheus: prometheus! };
}

/** The server as its owner has it: the shipped files in a folder, with an .env. Only images are others (images.yml). */
export class ComposedServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'fetch-compose-'));
  readonly home = mkdtempSync(join(tmpdir(), 'fetch-compose-home-'));
  readonly api: ApiCalls;
  readonly ports: Ports;
  private readonly project = `fetch-test-${process.pid}`;
  private readonly program: string;
  /** the next `up` makes a container of every role again where this is another one */
  image: string;

  constructor(program: string, image: string, ports: Ports) {
    this.program = program;
    this.ports = ports;
    this.image = image;
    this.api = apiCalls((...request) => requestAt(`http://127.0.0.1:${ports.runtime}`, ...request));
    const root = fileURLToPath(new URL('../../', import.meta.url));
    for (const each of ['docker-compose.yml', 'deploy'])
      cpSync(join(root, each), join(this.folder, each), { recursive: true });
    cpSync(join(root, 'tests/compose/images.yml'), join(this.folder, 'images.yml'));
    writeFileSync(join(this.home, 'token'), 'test-token\n', { mode: 0o644 });
    const settings = {
      COMPOSE_PROFILES: 'minimal',
      FETCH_HOME: this.home,
      DOCKER_GID: statSync('/var/run/docker.sock').gid,
      FETCH_RUNTIME_PORT: ports.runtime,
      FETCH_STATUS_PORT: ports.status,
      FETCH_TEMPORAL_UI_PORT: ports.ui,
      PROMETHEUS_PORT: ports.prometheus,
      FETCH_RUNTIME_TOKEN_FILE: join(this.home, 'token'),
      // answers come at once here
      FETCH_READ_SECONDS: 0,
    };
    writeFileSync(
      join(this.folder, '.env'),
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
  }

  compose = (...args: string[]): Promise<string> => this.run(this.program, args);

  /** What an owner types, in the server's folder. */
  shell = (commands: string): Promise<string> =>
    this.run('bash', ['-euo', 'pipefail', '-c', commands.replaceAll('docker compose', this.program)]);

  private async run(file: string, args: string[]): Promise<string> {
    const settings = {
      COMPOSE_PROJECT_NAME: this.project,
      COMPOSE_FILE: 'docker-compose.yml:images.yml',
      FETCH_TEST_IMAGE: this.image,
    };
    const { stdout } = await run(file, args, { cwd: this.folder, env: childEnvironment(settings), maxBuffer: 64 * MB });
    return stdout.trim();
  }

  /** `docker compose up -d`, until every container is healthy. */
  async up(...args: string[]): Promise<void> {
    await this.compose('up', '--detach', '--no-build', '--wait', '--wait-timeout', '240', ...args).catch(
      async (error: Error) => {
        throw new Error(
          `${error.message}\n${await this.compose('ps', '--all')}\n${await this.compose('logs', '--no-color', '--tail', '30')}`,
        );
      },
    );
  }

  containers = async (service: Service): Promise<string[]> =>
    (await this.compose('ps', '--quiet', service)).split('\n').filter(Boolean);

  /**
   * The main process of a container dies as by the kernel's hand. The engine starts it again, which it does not after
   * `docker kill`.
   */
  async kill9(service: Service): Promise<void> {
    for (const container of await this.containers(service))
      process.kill(Number(await docker('inspect', '--format', '{{.State.Pid}}', container)), 'SIGKILL');
  }

  async isHealthy(service: Service): Promise<boolean> {
    const containers = await this.containers(service);
    const states = await Promise.all(
      containers.map((each) => docker('inspect', '--format', '{{.State.Health.Status}}', each)),
    );
    return states.length > 0 && states.every((state) => state === 'healthy');
  }

  healthy = (service: Service, ms = 120_000): Promise<boolean> =>
    until(`${service} is healthy`, () => this.isHealthy(service), ms);

  /** Address in the network of the containers, which the machine reaches too. */
  async addressOf(service: Service): Promise<string> {
    const [container] = await this.containers(service);
    return await docker('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', container!);
  }

  /** What psql says, as the server's first user. */
  query = (database: string, sql: string): Promise<string> =>
    this.compose(
      'exec',
      '--no-TTY',
      'postgres',
      'psql',
      '--username=postgres',
      '--no-align',
      '--tuples-only',
      `--command=${sql}`,
      database,
    );

  async remove(): Promise<void> {
    // a volume of a profile that is off stays otherwise
    await this.compose('--profile', '*', 'down', '--volumes', '--timeout', '10');
    rmSync(this.folder, { recursive: true, force: true });
    rmSync(this.home, { recursive: true, force: true });
  }

  readHome = (file: string): string => readFileSync(join(this.home, file), 'utf8');
}
