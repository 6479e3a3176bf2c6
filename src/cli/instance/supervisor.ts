import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { RoleMessage } from '../roles/role-process.ts';
import { startTimeOf } from './process-identity.ts';
import { lastErrorLine, openRoleLog } from './role-log.ts';
import { type RoleSpec, STOP_ORDER } from './roles.ts';
import { type RoleName, type RoleState, type RoleStatus, type RunState, type Urls, writeRunState } from './state-file.ts';

const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;
/** a role that lived this long was well: its next death starts at the shortest backoff again */
const STEADY_MS = 30_000;
const PROBE_EVERY_MS = 50;

export interface Supervisor {
  /** Starts a role and keeps it running until `stopAll`. Resolves when it serves for the first time. */
  start(spec: RoleSpec): Promise<void>;
  /** Shows a role that runs elsewhere. */
  external(name: RoleName, address: string): void;
  roles(): RoleStatus[];
  /** Stops every role in order; each ends when its work has, and is killed when that takes longer than its limit. */
  stopAll(): Promise<void>;
  /** Kills what a stop still waits for. The servers are stopped in order also then: killing them would cost a recovery. */
  hurry(): void;
}

interface Role extends RoleStatus {
  startTime: string | null;
  spec: RoleSpec | null;
  child: ChildProcess | null;
  timer: NodeJS.Timeout | null;
  backoffMs: number;
  onReady: () => void;
}

/** Supervises child roles of one home. `onChange` hears of every change of state, after it is on record. */
export async function createSupervisor(options: { home: string; urls: Urls; log?: string | null; onChange?: (role: RoleStatus) => void }): Promise<Supervisor> {
  const { home, urls, log: ownLog = null, onChange } = options;
  const self = { pid: process.pid, startTime: (await startTimeOf(process.pid)) ?? 'unknown' };
  const roles = new Map<RoleName, Role>();
  const gone = new WeakSet<ChildProcess>();
  let stopping = false;
  const hurried = new AbortController();

  const statusOf = ({ name, pid, state, since, restarts, address, lastError }: Role): RoleStatus => ({ name, pid, state, since, restarts, address, lastError });
  const record = (): void => {
    const state: RunState = {
      version: 1,
      supervisor: self,
      roles: [...roles.values()].map((role) => ({ ...statusOf(role), startTime: role.startTime })),
      urls,
      stopMs: STOP_ORDER.reduce((sum, names) => sum + Math.max(0, ...names.map((name) => roles.get(name)?.spec?.stopLimitMs ?? 0)), 0),
      log: ownLog,
    };
    try {
      writeRunState(home, state);
    } catch (error) {
      // a full disk must not end the roles that still run; the next change tries again
      process.stderr.write(`run.json cannot be written: ${(error as Error).message}\n`);
    }
  };
  const change = (role: Role, state: RoleState, more: Partial<Role> = {}): void => {
    Object.assign(role, more, { state, since: role.state === state ? role.since : new Date().toISOString() });
    record();
    onChange?.(statusOf(role));
  };

  const launch = async (role: Role): Promise<void> => {
    const spec = role.spec!;
    try {
      await spec.before?.();
      if (stopping) return;
      const log = openRoleLog(home, role.name);
      const { uid, gid, env } = spec;
      // A session of its own: Ctrl-C in the terminal reaches the supervisor alone, which stops the roles in order.
      const child = spawn(spec.file, spec.args, {
        env,
        ...(uid === undefined ? {} : { uid, gid }),
        cwd: uid === undefined ? process.cwd() : '/',
        detached: true,
        stdio: spec.readiness === 'message' ? ['ignore', log.fd, log.fd, 'ipc'] : ['ignore', log.fd, log.fd],
      });
      closeSync(log.fd);
      const startedAt = Date.now();
      let told: string | null = null;
      child.once('error', (error) => died(role, child, startedAt, error.message));
      child.once('exit', (code, signal) => {
        died(role, child, startedAt, told ?? (signal ? `killed by ${signal}` : (lastErrorLine(home, role.name, log.offset) ?? `ended with code ${code}`)));
      });
      if (child.pid === undefined) return;
      change(role, 'starting', { child, pid: child.pid, startTime: null });
      const startTime = await startTimeOf(child.pid);
      if (role.child !== child) return;
      role.startTime = startTime;
      record();
      if (spec.readiness === 'message') {
        child.on('message', (message: RoleMessage) => {
          if (message.type === 'failed') told = message.error;
          else if (role.child === child && !stopping) served(role, message.address ?? spec.address);
        });
      } else void probe(role, child, spec.readiness);
    } catch (error) {
      retry(role, 0, (error as Error).message);
    }
  };
  const served = (role: Role, address: string | null): void => {
    change(role, 'ready', { address });
    role.onReady();
  };
  const probe = async (role: Role, child: ChildProcess, isReady: () => Promise<boolean>): Promise<void> => {
    while (role.child === child && !stopping) {
      if (await isReady()) {
        if (role.child === child && !stopping) served(role, role.spec!.address);
        return;
      }
      await new Promise((wake) => setTimeout(wake, PROBE_EVERY_MS));
    }
  };
  const died = (role: Role, child: ChildProcess, startedAt: number, why: string): void => {
    // a failed spawn may report both `error` and `exit`
    if (gone.has(child)) return;
    gone.add(child);
    if (stopping) change(role, 'stopped', { child: null, pid: null, startTime: null });
    else retry(role, Date.now() - startedAt, why);
  };
  const retry = (role: Role, livedMs: number, why: string): void => {
    if (stopping) return;
    const delay = livedMs >= STEADY_MS ? FIRST_BACKOFF_MS : role.backoffMs;
    change(role, 'restarting', {
      child: null,
      pid: null,
      startTime: null,
      lastError: why,
      restarts: role.restarts + 1,
      backoffMs: Math.min(delay * 2, LONGEST_BACKOFF_MS),
    });
    role.timer = setTimeout(() => void launch(role), delay);
  };
  const stop = async (role: Role, limitMs: number): Promise<void> => {
    if (role.timer) clearTimeout(role.timer);
    const { child } = role;
    if (!child || child.exitCode !== null || child.signalCode !== null) {
      if (role.state !== 'external') change(role, 'stopped', { child: null, pid: null, startTime: null });
      return;
    }
    change(role, 'stopping');
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const kill = () => child.kill('SIGKILL');
    const killer = setTimeout(kill, limitMs);
    child.kill(role.spec!.stopSignal);
    if (role.spec!.readiness === 'message') {
      hurried.signal.addEventListener('abort', kill, { once: true });
      if (hurried.signal.aborted) kill();
    }
    await ended;
    hurried.signal.removeEventListener('abort', kill);
    clearTimeout(killer);
  };

  record();
  return {
    start: (spec) =>
      new Promise((resolve) => {
        const role: Role = {
          ...{ name: spec.name, pid: null, state: 'starting', since: new Date().toISOString(), restarts: 0, address: spec.address, lastError: null },
          ...{ startTime: null, spec, child: null, timer: null, backoffMs: FIRST_BACKOFF_MS, onReady: resolve },
        };
        roles.set(spec.name, role);
        void launch(role);
      }),
    external: (name, address) => {
      roles.set(name, {
        ...{ name, pid: null, state: 'external', since: new Date().toISOString(), restarts: 0, address, lastError: null },
        ...{ startTime: null, spec: null, child: null, timer: null, backoffMs: FIRST_BACKOFF_MS, onReady: () => {} },
      });
      record();
    },
    roles: () => [...roles.values()].map(statusOf),
    stopAll: async () => {
      stopping = true;
      for (const names of STOP_ORDER) {
        await Promise.all(names.flatMap((name) => roles.get(name) ?? []).map((role) => stop(role, role.spec?.stopLimitMs ?? 0)));
      }
    },
    hurry: () => hurried.abort(),
  };
}
