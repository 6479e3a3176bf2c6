import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess, isAlive, type ProcessIdentity } from './process-identity.ts';

/** our own programs; several of them may share a process */
export type OwnRole = 'worker' | 'gateway' | 'api' | 'kennel';
export type RoleName = 'temporal' | 'postgres' | OwnRole;
/** `external`: somebody else runs it and we only use it. `restarting`: it died and waits for its next try. */
export type RoleState = 'starting' | 'ready' | 'restarting' | 'stopping' | 'stopped' | 'external';

/** One role as `fetch status --json` shows it; times are RFC 3339 UTC. */
export interface RoleStatus {
  name: RoleName;
  pid: number | null;
  state: RoleState;
  since: string;
  restarts: number;
  address: string | null;
  lastError: string | null;
}
export interface Urls {
  runtime: string;
  status: string;
  temporalUi: string | null;
}
/** `<home>/run.json`: who runs this home. Written whole and atomically at every change. */
export interface RunState {
  version: 1;
  supervisor: ProcessIdentity;
  roles: Array<RoleStatus & { startTime: string | null }>;
  urls: Urls;
  /** the longest that a stop in order can take, ms */
  stopMs?: number;
  /** where the supervisor writes what it has to say; null or absent: to its parent */
  log?: string | null;
}

const fileOf = (home: string): string => join(home, 'run.json');

/** Synchronous on purpose: a child must be on record before anything else can happen to its supervisor. */
export function writeRunState(home: string, state: RunState): void {
  const next = `${fileOf(home)}.${process.pid}`;
  const file = openSync(next, 'w', 0o600);
  try {
    writeSync(file, `${JSON.stringify(state, null, 1)}\n`);
  } finally {
    closeSync(file);
  }
  renameSync(next, fileOf(home));
}

/** Null when nothing was ever started, or the file is not one of ours (a broken file must not block a start). */
export function readRunState(home: string): RunState | null {
  try {
    const state = JSON.parse(readFileSync(fileOf(home), 'utf8')) as RunState;
    return state.version === 1 && Number.isInteger(state.supervisor?.pid) && Array.isArray(state.roles) ? state : null;
  } catch {
    return null;
  }
}

export const removeRunState = (home: string): void => rmSync(fileOf(home), { force: true });

/** The state of a home whose supervisor lives; null otherwise. */
export async function liveRunState(home: string): Promise<RunState | null> {
  const state = readRunState(home);
  return state && (await isAlive(state.supervisor)) ? state : null;
}

/**
 * Ends the children that a killed supervisor left behind, by pid and start time. Returns the names of those that were
 * alive.
 */
export async function endLeftovers(home: string): Promise<RoleName[]> {
  const ended: RoleName[] = [];
  const roles = readRunState(home)?.roles ?? [];
  await Promise.all(
    roles.map(async ({ name, pid, startTime }) => {
      if (pid === null || startTime === null || !(await isAlive({ pid, startTime }))) return;
      // to PostgreSQL SIGTERM means "wait for all clients"; SIGINT means "stop now, cleanly"
      await endProcess({ pid, startTime }, { signal: name === 'postgres' ? 'SIGINT' : 'SIGTERM' });
      ended.push(name);
    }),
  );
  return ended;
}
