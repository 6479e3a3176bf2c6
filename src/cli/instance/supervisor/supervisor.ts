import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { startTimeOf } from '../home/process-identity.ts';
import {
  type RoleName,
  type RoleState,
  type RoleStatus,
  type RunState,
  type Urls,
  writeRunState,
} from '../home/state-file.ts';
import { lastErrorLine, openRoleLog } from '../logs/role-log.ts';
import { type ProgramSpec, STOP_ORDER } from './programs.ts';
import { type ProcessMessage, RELEASE } from './role-process.ts';

export interface Supervisor {
  /** Starts a program and keeps it running until `stopAll`. */
  start(spec: ProgramSpec): void;
  /** Resolves when each of these roles has served. */
  whenReady(...names: RoleName[]): Promise<void>;
  /** Shows a role that runs elsewhere. */
  external(name: RoleName, address: string): void;
  roles(): RoleStatus[];
  /** Stops our own roles in order, then starts these programs in their place. The servers stay. */
  restart(specs: () => ProgramSpec[]): Promise<void>;
  /** Stops every program in order; each ends when its work has, and is killed when that takes longer than its limit. */
  stopAll(): Promise<void>;
  /**
   * Kills what a stop still waits for. The servers are stopped in order also then: killing them would cost a recovery.
   */
  hurry(): void;
}

/** Supervises the programs of one home. `onChange` hears of every change of state, after it is on record. */
export async function createSupervisor(options: {
  home: string;
  urls: Urls;
  log?: string | null;
  onChange?: (role: RoleStatus) => void;
  /** a role asks that all of them start again */
  onRestart?: () => void;
}): Promise<Supervisor> {
  const { home, urls, log = null, onChange, onRestart = () => {} } = options;
  const supervisor = { pid: process.pid, startTime: (await startTimeOf(process.pid)) ?? 'unknown' };
  const programs: Program[] = [];
  const hurried = new AbortController();
  const stagesOf = () => STOP_ORDER.map((stage) => programs.filter(({ spec }) => spec.stops === stage));
  let ending = false;
  const stopMs = () =>
    stagesOf().reduce((sum, stage) => sum + Math.max(0, ...stage.map(({ spec }) => spec.stopLimitMs)), 0);
  const table = createRoleTable(home, () => ({ supervisor, urls, stopMs: stopMs(), log }), onChange);
  const start = (spec: ProgramSpec) => void programs.push(startProgram(spec, { home, table, onRestart }));
  return {
    start,
    whenReady: async (...names) => void (await Promise.all(names.map(table.whenReady))),
    external: (name, address) => table.add(name, 'external', address),
    roles: table.all,
    async restart(specs) {
      const own = programs.filter(({ spec }) => spec.readiness === 'message');
      for (const program of own) program.stopping = true;
      for (const stage of stagesOf())
        await Promise.all(
          stage.filter((each) => own.includes(each)).map((program) => stopProgram(program, hurried.signal)),
        );
      if (ending) return;
      for (const program of own) programs.splice(programs.indexOf(program), 1);
      for (const spec of specs()) start(spec);
    },
    async stopAll() {
      ending = true;
      // none of them may start again while the others end
      for (const program of programs) program.stopping = true;
      for (const stage of stagesOf()) await Promise.all(stage.map((program) => stopProgram(program, hurried.signal)));
    },
    hurry: () => hurried.abort(),
  };
}

const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;
/** for a program that was ready: people wait for it, and its start costs more than this wait saves */
const LONGEST_BACKOFF_OF_READY_MS = 1_000;
/** a program that lived this long was well: its next death starts at the shortest backoff again */
const STEADY_MS = 30_000;
const PROBE_EVERY_MS = 50;
/** The time that a process needs to exit after it has closed everything. */
const EXIT_MS = 2_000;

/** A child process that is kept running until it is stopped. */
interface Program {
  spec: ProgramSpec;
  home: string;
  table: RoleTable;
  onRestart: () => void;
  child: ChildProcess | null;
  /** set while it waits for its next start */
  timer: NodeJS.Timeout | null;
  backoffMs: number;
  /** the process that runs, or ran last, became ready */
  wasReady: boolean;
  stopping: boolean;
}

function startProgram(spec: ProgramSpec, parts: Pick<Program, 'home' | 'table' | 'onRestart'>): Program {
  const program: Program = {
    spec,
    ...parts,
    child: null,
    timer: null,
    backoffMs: FIRST_BACKOFF_MS,
    wasReady: false,
    stopping: false,
  };
  for (const role of spec.roles) parts.table.add(role, 'starting', spec.address);
  void launch(program);
  return program;
}

/**
 * Ends when the work of its roles has; it is killed when that takes longer than its limit, or when `hurried` aborts.
 */
async function stopProgram(program: Program, hurried: AbortSignal): Promise<void> {
  const { spec, child } = program;
  if (program.timer) clearTimeout(program.timer);
  program.stopping = true;
  if (!child || child.exitCode !== null || child.signalCode !== null) return gone(program, 'stopped');
  for (const role of spec.roles) program.table.change(role, { state: 'stopping' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = () => child.kill('SIGKILL');
  const killer = setTimeout(kill, spec.stopLimitMs);
  child.kill(spec.stopSignal);
  // a server is stopped in order also then: killing it would cost a recovery
  if (spec.readiness === 'message') {
    hurried.addEventListener('abort', kill, { once: true });
    if (hurried.aborted) kill();
  }
  await ended;
  hurried.removeEventListener('abort', kill);
  clearTimeout(killer);
}

async function launch(program: Program): Promise<void> {
  const { spec, table } = program;
  program.wasReady = false;
  try {
    await spec.before?.();
    if (program.stopping) return;
    const { child, logOffset } = spawnChild(program);
    watch(program, child, logOffset);
    if (child.pid === undefined) return;
    program.child = child;
    // it may speak while its start time is looked up
    if (spec.readiness === 'message') child.on('message', (message: ProcessMessage) => hear(program, child, message));
    for (const role of spec.roles) table.change(role, { state: 'starting', pid: child.pid, startTime: null });
    const startTime = await startTimeOf(child.pid);
    if (program.child !== child) return;
    for (const role of spec.roles) table.change(role, { startTime });
    if (spec.readiness !== 'message') await probe(program, child, spec.readiness);
  } catch (error) {
    retry(program, 0, (error as Error).message);
  }
}

function spawnChild({ spec, home }: Program): { child: ChildProcess; logOffset: number } {
  const log = openRoleLog(home, spec.log);
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
  return { child, logOffset: log.offset };
}

/** Hears of its end, once: a failed spawn may report both `error` and `exit`. */
function watch(program: Program, child: ChildProcess, logOffset: number): void {
  const { spec, home } = program;
  const startedAt = Date.now();
  let told: string | null = null;
  let over = false;
  const died = (why: string): void => {
    if (over) return;
    over = true;
    if (program.stopping) gone(program, 'stopped');
    else retry(program, Date.now() - startedAt, why);
  };
  child.on('message', (message: ProcessMessage) => {
    if (message.type === 'failed') told = message.error;
  });
  child.once('error', (error) => died(error.message));
  child.once('exit', (code, signal) =>
    died(
      told ??
        (signal ? `killed by ${signal}` : (lastErrorLine(home, spec.log, logOffset) ?? `ended with code ${code}`)),
    ),
  );
}

function hear(program: Program, child: ChildProcess, message: ProcessMessage): void {
  const { table, spec, child: current, stopping } = program;
  if (message.type === 'loaded') return void release(program, child);
  if (message.type === 'restart') return void program.onRestart();
  if (message.type === 'stopping') return void killLate(child, message.withinMs + EXIT_MS);
  if (message.role === 'prepare') spec.onPreparation?.(message);
  const role = spec.roles.find((name) => name === message.role);
  if (!role || current !== child || stopping) return;
  if (message.type === 'ready') {
    program.wasReady = true;
    table.change(role, { state: 'ready', address: message.address ?? spec.address });
  }
  if (message.type === 'waits') table.change(role, { state: 'starting', lastError: message.error });
}

/** Native code may hang at the exit of a process that was stopped by itself: the next one would never be started. */
function killLate(child: ChildProcess, ms: number): void {
  const killer = setTimeout(() => child.kill('SIGKILL'), ms);
  child.once('exit', () => clearTimeout(killer));
}

async function release({ spec }: Program, child: ChildProcess): Promise<void> {
  // where the wait fails, the whole start does
  await spec.after?.catch(() => new Promise(() => {}));
  if (child.connected) child.send(RELEASE);
}

async function probe(program: Program, child: ChildProcess, isReady: () => Promise<boolean>): Promise<void> {
  const { spec, table } = program;
  const waits = () => program.child === child && !program.stopping;
  while (waits()) {
    if ((await isReady()) && waits()) {
      program.wasReady = true;
      for (const role of spec.roles) table.change(role, { state: 'ready', address: spec.address });
      return;
    }
    await new Promise((wake) => setTimeout(wake, PROBE_EVERY_MS));
  }
}

function retry(program: Program, livedMs: number, why: string): void {
  if (program.stopping) return;
  const longest = program.wasReady ? LONGEST_BACKOFF_OF_READY_MS : LONGEST_BACKOFF_MS;
  const delay = livedMs >= STEADY_MS ? FIRST_BACKOFF_MS : Math.min(program.backoffMs, longest);
  program.backoffMs = Math.min(delay * 2, LONGEST_BACKOFF_MS);
  gone(program, 'restarting', (role) => ({ lastError: why, restarts: program.table.get(role).restarts + 1 }));
  program.timer = setTimeout(() => void launch(program), delay);
}

function gone(
  program: Program,
  state: RoleState,
  more: (role: RoleName) => { lastError?: string; restarts?: number } = () => ({}),
): void {
  program.child = null;
  for (const role of program.spec.roles)
    program.table.change(role, { state, pid: null, startTime: null, ...more(role) });
}

/** A role, and the start time of its process. Two roles of one process have the same pid. */
interface Entry extends RoleStatus {
  startTime: string | null;
}

/** What every role of a home does now, on record in `run.json` before anybody hears of it. */
interface RoleTable {
  add(name: RoleName, state: 'starting' | 'external', address: string | null): void;
  change(name: RoleName, change: Partial<Omit<Entry, 'name' | 'since'>>): void;
  get(name: RoleName): Readonly<Entry>;
  all(): RoleStatus[];
  /** Resolves when the role serves for the first time. */
  whenReady(name: RoleName): Promise<void>;
}

type Rest = Omit<RunState, 'version' | 'roles'>;

/** `rest`: what the record says beside the roles. `onChange` hears of every change of state. */
function createRoleTable(home: string, rest: () => Rest, onChange?: (role: RoleStatus) => void): RoleTable {
  const roles = new Map<RoleName, Entry>();
  const served = new Map<RoleName, PromiseWithResolvers<void>>();
  const statusOf = ({ startTime: _, ...status }: Entry): RoleStatus => ({ ...status });
  const readiness = (name: RoleName): PromiseWithResolvers<void> => {
    const known = served.get(name) ?? Promise.withResolvers<void>();
    served.set(name, known);
    return known;
  };

  const record = (): void => {
    try {
      writeRunState(home, { version: 1, ...rest(), roles: [...roles.values()] });
    } catch (error) {
      // a full disk must not end the roles that still run; the next change tries again
      process.stderr.write(`run.json cannot be written: ${(error as Error).message}\n`);
    }
  };

  record();
  return {
    add(name, state, address) {
      roles.set(name, { name, pid: null, state, since: now(), restarts: 0, address, lastError: null, startTime: null });
      record();
    },
    change(name, change) {
      const role = roles.get(name)!;
      const moves = change.state !== undefined && change.state !== role.state;
      Object.assign(role, change, moves ? { since: now() } : {});
      record();
      if (change.state !== undefined) onChange?.(statusOf(role));
      if (change.state === 'ready') readiness(name).resolve();
    },
    get: (name) => roles.get(name)!,
    all: () => [...roles.values()].map(statusOf),
    whenReady: (name) => readiness(name).promise,
  };
}

const now = (): string => new Date().toISOString();
