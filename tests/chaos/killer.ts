import { setTimeout as pause } from 'node:timers/promises';
import type { RoleName } from '../../src/cli/instance/home/state-file.ts';
import type { TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import type { Random } from './random.ts';

export type Victim = RoleName | 'supervisor';
export const VICTIMS: readonly Victim[] = ['worker', 'gateway', 'api', 'postgres', 'temporal', 'supervisor'];

export interface Kill {
  victim: Victim;
  /** epoch milliseconds */
  at: number;
  /** from the kill to the end of a message that was sent right after it */
  recoveryMs: number;
  /** another process was killed at the same moment */
  together: boolean;
}

/**
 * SIGKILLs one process of the instance by the pid on record; false when it has none at the moment. A killed supervisor
 * is started again, as a service manager would.
 */
export async function kill(app: TestApp, victim: Victim): Promise<boolean> {
  if (victim !== 'supervisor') {
    const pid = app.state().roles.find((role) => role.name === victim)?.pid;
    if (!pid) return false;
    process.kill(pid, 'SIGKILL');
    return true;
  }
  const child = app.supervisor();
  process.kill(app.state().supervisor.pid, 'SIGKILL');
  await until('the killed supervisor is gone', () => child.exitCode !== null || child.signalCode !== null);
  await app.start();
  return true;
}

/** Kills at random moments, one after the other or two at once. `probe` sends a message and waits for its answer. */
export async function killAtRandom(
  app: TestApp,
  random: Random,
  {
    victims = VICTIMS,
    pauseMs = 1500,
    ...wanted
  }: { kills: number; pauseMs?: number; until?: number; victims?: readonly Victim[]; onKill?: (kill: Kill) => void },
  probe: () => Promise<void>,
): Promise<Kill[]> {
  const kills: Kill[] = [];
  while (kills.length < wanted.kills && Date.now() < (wanted.until ?? Number.POSITIVE_INFINITY)) {
    await pause(random.between(0, pauseMs));
    const first = random.pick(victims);
    const second =
      random.next() < 0.2 ? random.pick(victims.filter((each) => each !== first && each !== 'supervisor')) : null;
    const at = Date.now();
    const done: Victim[] = [];
    if (second && (await kill(app, second))) done.push(second);
    const restarted = kill(app, first);
    const recovered = probe();
    // the probe is sent while the supervisor may still be starting: that is the recovery which a person sees
    const [killed] = await Promise.all([restarted, recovered]);
    if (killed) done.push(first);
    const recoveryMs = Date.now() - at;
    for (const victim of done) {
      const killedOne = { victim, at, recoveryMs, together: done.length > 1 };
      kills.push(killedOne);
      wanted.onKill?.(killedOne);
    }
  }
  return kills;
}

/** Half of all seeds have gateway, API and kennel in one process, the others in one each. */
export const processesOf = (seed: number): { FETCH_SEPARATE_PROCESSES: string } => ({
  FETCH_SEPARATE_PROCESSES: String(seed % 2 === 0),
});
