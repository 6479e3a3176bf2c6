import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { promisify } from 'node:util';
import { UserError } from '../../../contracts/user-error.ts';
import { commandOf } from '../home/process-identity.ts';

export interface PortNeed {
  port: number;
  host: string;
  /** what it is for, as a person would say it */
  purpose: string;
  /** the setting and the flag that change it */
  setting: string;
  flag: string;
}
interface PortHolder {
  pid: number;
  command: string;
}

export const isPortFree = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else if (error.code === 'EACCES')
        reject(
          new UserError(
            `Port ${port} may not be used by this user (ports below 1024 are privileged). Choose a higher one.`,
          ),
        );
      else if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
        reject(
          new UserError(`${host} is not an address of this machine. Change FETCH_HOST or FETCH_RUNTIME_HOST (--host).`),
        );
      else reject(error);
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });

/** A port that nobody has in this moment. */
export const freePort = (ip: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, ip, () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** Throws `UserError` with every conflict at once. */
export async function requirePorts(needs: PortNeed[]): Promise<void> {
  const problems: string[] = [];
  for (const [index, need] of needs.entries()) {
    const twin = needs.slice(0, index).find((other) => other.port === need.port);
    if (twin)
      problems.push(
        `Port ${need.port} is wanted for ${twin.purpose} and ${need.purpose}. Change ${need.setting} (${need.flag}).`,
      );
    else if (!(await isPortFree(need.port, need.host))) {
      const holder = await portHolder(need.port);
      const who = holder
        ? `process ${holder.pid} (${holder.command.slice(0, 120)})`
        : 'another process, of another user';
      problems.push(
        `Port ${need.port}, wanted for ${need.purpose}, is taken by ${who}. Stop it, or choose another port with ${need.setting} (${need.flag} ${need.port + 100}).`,
      );
    }
  }
  if (problems.length > 0) throw new UserError(problems.join('\n'));
}

/** Who listens on a TCP port, as far as this user may see it. */
export async function portHolder(port: number): Promise<PortHolder | null> {
  const pid = process.platform === 'linux' ? await holderFromProc(port) : await holderFromLsof(port);
  return pid === null ? null : { pid, command: (await commandOf(pid)) ?? 'unknown' };
}

async function holderFromProc(port: number): Promise<number | null> {
  const sockets = new Set<string>();
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (await readFile(table, 'utf8').catch(() => '')).split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      // 0A is LISTEN
      if (state === '0A' && local?.endsWith(`:${wanted}`)) sockets.add(`socket:[${inode}]`);
    }
  }
  if (sockets.size === 0) return null;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      if (sockets.has(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''))) return Number(pid);
    }
  }
  return null;
}

async function holderFromLsof(port: number): Promise<number | null> {
  try {
    const { stdout } = await promisify(execFile)('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fp']);
    return Number(/^p(\d+)/m.exec(stdout)?.[1]) || null;
  } catch {
    return null;
  }
}

/**
 * True when something accepts connections on a loopback port and, with `hello`, answers what it is told in the right
 * way.
 */
export const answersOn = (port: number, hello?: { say: Buffer; isAnswer(chunk: Buffer): boolean }): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
    if (!hello) return void socket.once('connect', () => settle(true));
    socket.once('connect', () => socket.write(hello.say));
    socket.once('data', (chunk: Buffer) => settle(hello.isAnswer(chunk)));
  });
