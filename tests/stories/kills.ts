import { setTimeout as pause } from 'node:timers/promises';
import type { RoleName } from '../../src/cli/instance/home/state-file.ts';
import { kill } from '../chaos/killer.ts';
import type { Random } from '../chaos/random.ts';
import type { TestApp } from '../support/app.ts';

const ROLES: readonly RoleName[] = ['worker', 'gateway', 'api', 'kennel'];
const SERVERS: readonly RoleName[] = ['postgres', 'temporal'];
/** Long enough for the work of a step to have begun, short enough for most of it not to be over. */
const LATEST_MS = 1_500;
/** Every so many kills the supervisor, PostgreSQL and the Temporal server die with the roles. */
const WHOLE_EVERY = 3;

export interface Kills {
  /** processes that were killed, by role */
  killed: Partial<Record<RoleName | 'supervisor', number>>;
  /** Kills every role at a moment after a step; `atOnce`: before anything has begun. */
  strike(atOnce: boolean): Promise<void>;
}

export function killsOf(app: TestApp, random: Random): Kills {
  const killed: Kills['killed'] = {};
  let strikes = 0;
  const count = (role: RoleName | 'supervisor') => {
    killed[role] = (killed[role] ?? 0) + 1;
  };
  return {
    killed,
    async strike(atOnce) {
      strikes += 1;
      if (!atOnce) await pause(random.between(0, LATEST_MS));
      const whole = strikes % WHOLE_EVERY === 0;
      for (const pid of pidsOf(app, whole ? [...ROLES, ...SERVERS] : ROLES, count)) killPid(pid);
      if (!whole) return;
      if (await kill(app, 'supervisor')) count('supervisor');
    },
  };
}

/** Each process once, however many roles it has. */
function pidsOf(app: TestApp, roles: readonly RoleName[], count: (role: RoleName) => void): Set<number> {
  const pids = new Set<number>();
  for (const { name, pid } of app.state().roles) {
    if (pid === null || !roles.includes(name)) continue;
    pids.add(pid);
    count(name);
  }
  return pids;
}

function killPid(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it died a moment ago with another role, or is between two starts
  }
}
