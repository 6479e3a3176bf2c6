import { startTimeOf } from '../home/process-identity.ts';
import type { RoleName, RoleStatus, Urls } from '../home/state-file.ts';
import { type Program, startProgram, stopProgram } from './program.ts';
import { type ProgramSpec, STOP_ORDER } from './programs.ts';
import { createRoleTable } from './role-table.ts';

export interface Supervisor {
  /** Starts a program and keeps it running until `stopAll`. */
  start(spec: ProgramSpec): void;
  /** Resolves when each of these roles has served. */
  whenReady(...names: RoleName[]): Promise<void>;
  /** Shows a role that runs elsewhere. */
  external(name: RoleName, address: string): void;
  roles(): RoleStatus[];
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
}): Promise<Supervisor> {
  const { home, urls, log = null, onChange } = options;
  const supervisor = { pid: process.pid, startTime: (await startTimeOf(process.pid)) ?? 'unknown' };
  const programs: Program[] = [];
  const hurried = new AbortController();
  const stagesOf = () => STOP_ORDER.map((stage) => programs.filter(({ spec }) => spec.stops === stage));
  const stopMs = () =>
    stagesOf().reduce((sum, stage) => sum + Math.max(0, ...stage.map(({ spec }) => spec.stopLimitMs)), 0);
  const table = createRoleTable(home, () => ({ supervisor, urls, stopMs: stopMs(), log }), onChange);
  return {
    start: (spec) => void programs.push(startProgram(spec, { home, table })),
    whenReady: async (...names) => void (await Promise.all(names.map(table.whenReady))),
    external: (name, address) => table.add(name, 'external', address),
    roles: table.all,
    async stopAll() {
      // none of them may start again while the others end
      for (const program of programs) program.stopping = true;
      for (const stage of stagesOf()) await Promise.all(stage.map((program) => stopProgram(program, hurried.signal)));
    },
    hurry: () => hurried.abort(),
  };
}
