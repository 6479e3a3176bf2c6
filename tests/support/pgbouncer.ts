import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './app.ts';
import { until } from './until.ts';

const PROGRAM = '/usr/sbin/pgbouncer';

/**
 * PgBouncer in transaction mode in front of a database. Missing, it is installed: on Debian, as root, as the Docker
 * engine is.
 */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<{ url: string; close(): Promise<void> }> {
  if (!existsSync(PROGRAM)) install();
  const folder = mkdtempSync(join(tmpdir(), 'fetch-pgbouncer-'));
  chmodSync(folder, 0o755);
  const { hostname, port: server, username, password, pathname } = new URL(databaseUrl);
  const [port] = await freePorts(1);
  const login = `user=${decodeURIComponent(username)}${password && ` password=${decodeURIComponent(password)}`}`;
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    ...settings,
  };
  const file = join(folder, 'pgbouncer.ini');
  const named = Object.entries(lines).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(file, `[databases]\n* = host=${hostname} port=${server} ${login}\n[pgbouncer]\n${named.join('\n')}\n`);
  // it refuses to run as root
  const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  const child: ChildProcess = spawn(PROGRAM, [file], { stdio: 'ignore', ...user });
  await until('PgBouncer takes connections', () => answers(port!), 15_000);
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    async close() {
      child.kill('SIGTERM');
      await until('PgBouncer has stopped', () => child.exitCode !== null || child.signalCode !== null, 15_000);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function install(): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['update', '-qq'], { env, stdio: 'ignore' });
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'pgbouncer'], { env, stdio: 'ignore' });
}

const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'nobody']));

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
