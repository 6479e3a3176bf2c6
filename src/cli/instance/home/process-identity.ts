import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A pid alone is reused by the system; with the start time of its process it names one process for ever. */
export interface ProcessIdentity {
  pid: number;
  /** opaque; compare only for equality */
  startTime: string;
}

/** Start time of a running process; null when there is none (a zombie counts as none). */
export async function startTimeOf(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // the command (field 2) may hold blanks and brackets: fields are counted after its last bracket
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z' || fields[0] === 'X') return null;
      const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
      return `${boot.slice(0, 8)}:${fields[19]}`;
    } catch {
      return null;
    }
  }
  try {
    const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)], {
      env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' },
    });
    return stdout.trim() || null;
  } catch {
    return null;
  }
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await startTimeOf(identity.pid)) === identity.startTime;
}

/** The command line of a process, or null when it is gone or belongs to somebody else. */
export async function commandOf(pid: number): Promise<string | null> {
  try {
    if (process.platform === 'linux')
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim() || null;
    return (await run('ps', ['-o', 'command=', '-p', String(pid)])).stdout.trim() || null;
  } catch {
    return null;
  }
}

/** Ends exactly this process: `signal`, then SIGKILL after `graceMs`. Resolves when it is gone. */
export async function endProcess(
  identity: ProcessIdentity,
  options: { signal?: NodeJS.Signals; graceMs?: number } = {},
): Promise<void> {
  const { signal = 'SIGTERM', graceMs = 3_000 } = options;
  if (!(await isAlive(identity))) return;
  kill(identity.pid, signal);
  if (await waitUntilGone(identity, graceMs)) return;
  kill(identity.pid, 'SIGKILL');
  if (!(await waitUntilGone(identity, 5_000)))
    throw new Error(`Process ${identity.pid} cannot be ended. End it by hand: kill -9 ${identity.pid}`);
}

export async function waitUntilGone(identity: ProcessIdentity, limitMs: number): Promise<boolean> {
  for (const end = Date.now() + limitMs; ; await new Promise((wake) => setTimeout(wake, 25))) {
    if (!(await isAlive(identity))) return true;
    if (Date.now() > end) return false;
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
