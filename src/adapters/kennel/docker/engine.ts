import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import type { Config } from '../../../config.ts';
import { KennelUnavailable } from '../kennel.ts';

/** One engine, through two clients: one for quick calls, one for calls of any length. */
export interface Engine {
  /** quick calls, which fail after a minute when the engine hangs */
  docker: Docker;
  /** builds, waits and attached streams, without a time limit */
  patient: Docker;
  /** where the engine was looked for, for a person */
  address: string;
  /** Throws KennelUnavailable. The answer is cached for some seconds. */
  facts(): Promise<EngineFacts>;
}

export interface EngineFacts {
  version: string;
  apiVersion: string;
  /** `linux/amd64` */
  platform: string;
  cpus: number;
  memoryBytes: number;
  cgroup: string;
  storage: string;
  /** `seccomp`, `apparmor`, `rootless`, `userns`, … */
  security: string[];
}

const SHORT_CALL_MS = 60_000;
/** a busy engine takes seconds to describe itself */
const PING_MS = 15_000;
const REMEMBERED_MS = 5_000;

/** Never throws: a wrong DOCKER_HOST shows at the first call, like an engine that does not answer. */
export function connect(config: Pick<Config, 'DOCKER_HOST'>): Engine {
  const { options, address, problem } = target(config.DOCKER_HOST);
  const docker = new Docker({ ...options, timeout: SHORT_CALL_MS });
  const patient = new Docker(options);
  let known: { at: number; facts: Promise<EngineFacts> } | null = null;
  return {
    docker,
    patient,
    address,
    facts: () => {
      if (problem) return Promise.reject(new KennelUnavailable(problem));
      if (known && Date.now() - known.at < REMEMBERED_MS) return known.facts;
      const facts = ask(new Docker({ ...options, timeout: PING_MS }));
      const asked = { at: Date.now(), facts };
      known = asked;
      facts.catch(() => {
        // a failure is not cached, because the engine may be back a moment later
        if (known === asked) known = null;
      });
      return facts;
    },
  };
}

async function ask(docker: Docker): Promise<EngineFacts> {
  try {
    const [info, version] = await Promise.all([docker.info(), docker.version()]);
    return {
      version: version.Version,
      apiVersion: version.ApiVersion,
      platform: `${version.Os}/${version.Arch}`,
      cpus: info.NCPU,
      memoryBytes: info.MemTotal,
      cgroup: `v${info.CgroupVersion ?? 1} (${info.CgroupDriver})`,
      storage: info.Driver,
      security: ((info.SecurityOptions ?? []) as string[]).map((option) => /name=([^,]+)/.exec(option)?.[1] ?? option),
    };
  } catch (error) {
    throw explain(error);
  }
}

/** The user of containers: never root. `ownership.ts` handles workspaces of other users. */
export function containerUser(): { uid: number; gid: number } {
  const uid = process.getuid?.() ?? 1000;
  return uid === 0 ? { uid: 1000, gid: 1000 } : { uid, gid: process.getgid?.() ?? 1000 };
}

const away = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EACCES',
  'EPERM',
]);

/** KennelUnavailable when the engine does not answer; any other error is returned unchanged. */
function explain(error: unknown): Error {
  if (error instanceof KennelUnavailable) return error;
  const { code, message, statusCode, syscall } = error as {
    code?: string;
    message?: string;
    statusCode?: number;
    syscall?: string;
  };
  // a missing file has the same codes as a missing socket
  const network = syscall === undefined || ['connect', 'read', 'write', 'getaddrinfo'].includes(syscall);
  const gone = statusCode === undefined && network && (away.has(code ?? '') || /socket hang up/.test(message ?? ''));
  if (!gone) return error instanceof Error ? error : new Error(String(error));
  if (code === 'EACCES' || code === 'EPERM')
    return new KennelUnavailable(
      'This user may not use the Docker engine. Add it to the group of the engine and log in again: sudo usermod -aG docker "$USER". With docker-compose.yml set DOCKER_GID in .env to that group. Chats work without it.',
      { cause: error },
    );
  return new KennelUnavailable(
    `No Docker engine answers, and coding tasks need one. ${howToInstall()} Chats work without it.`,
    { cause: error },
  );
}

export function howToInstall(platform: string = process.platform): string {
  if (platform === 'darwin')
    return 'Install and start Docker Desktop, OrbStack or Colima: https://docs.docker.com/get-docker';
  if (platform === 'win32')
    return 'Run Fetch inside WSL, with Docker Desktop: https://docs.docker.com/desktop/features/wsl';
  if (existsSync('/etc/debian_version') && process.getuid?.() === 0)
    return 'Install and start it: scripts/docker-engine.sh (where Fetch itself runs in a container: give that the socket of an engine).';
  return 'Install it (https://docs.docker.com/engine/install) and start it: sudo systemctl enable --now docker.';
}

interface Target {
  options: Docker.DockerOptions;
  address: string;
  problem?: string;
}

function target(host: string | undefined): Target {
  const socketPath = localSocket();
  if (!host) return { options: { socketPath }, address: socketPath };
  const url = host.startsWith('/') ? new URL(`unix://${host}`) : URL.parse(host);
  if (url?.protocol === 'unix:') return { options: { socketPath: url.pathname }, address: url.pathname };
  if (url?.protocol === 'tcp:' || url?.protocol === 'http:')
    return { options: { host: url.hostname, port: Number(url.port || 2375), protocol: 'http' }, address: host };
  return {
    options: { socketPath },
    address: host,
    problem: url
      ? // folders of this machine are mounted: an engine elsewhere has other ones
        `DOCKER_HOST is ${host}: the engine has to run on this machine (unix:///…). For the containers of another machine, run a kennel worker there.`
      : `DOCKER_HOST is not an address: ${host}. An example: unix:///var/run/docker.sock`,
  };
}

/** The first of the usual places of an engine's socket. */
function localSocket(): string {
  const home = homedir();
  const sockets = [
    '/var/run/docker.sock',
    join(home, '.docker/run/docker.sock'),
    join(home, '.orbstack/run/docker.sock'),
    join(home, '.colima/default/docker.sock'),
    `/run/user/${process.getuid?.() ?? 0}/docker.sock`,
  ];
  return sockets.find((path) => existsSync(path)) ?? sockets[0]!;
}

/** Reports an engine that goes away during the work as KennelUnavailable. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error);
  }
}
