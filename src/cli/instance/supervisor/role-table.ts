import { type RoleName, type RoleStatus, type RunState, writeRunState } from '../home/state-file.ts';

/** A role, and the start time of its process. Two roles of one process have the same pid. */
interface Entry extends RoleStatus {
  startTime: string | null;
}

/** What every role of a home does now, on record in `run.json` before anybody hears of it. */
export interface RoleTable {
  add(name: RoleName, state: 'starting' | 'external', address: string | null): void;
  change(name: RoleName, change: Partial<Omit<Entry, 'name' | 'since'>>): void;
  get(name: RoleName): Readonly<Entry>;
  all(): RoleStatus[];
  /** Resolves when the role serves for the first time. */
  whenReady(name: RoleName): Promise<void>;
}

type Rest = Omit<RunState, 'version' | 'roles'>;

/** `rest`: what the record says beside the roles. `onChange` hears of every change of state. */
export function createRoleTable(home: string, rest: () => Rest, onChange?: (role: RoleStatus) => void): RoleTable {
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
