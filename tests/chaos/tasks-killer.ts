import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { homeLabel } from '../../src/adapters/kennel/docker/containers.ts';
import { childEnvironment } from '../../src/config.ts';
import type { TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { kill, type Victim } from './killer.ts';
import type { Random } from './random.ts';

const execute = promisify(execFile);
const ENGINE = fileURLToPath(new URL('../../scripts/docker-engine.sh', import.meta.url));

/** `container`: where an agent works. `operation`: where git or the workspace program works. */
export type TaskVictim = Victim | 'container' | 'operation' | 'dockerd';

export interface TaskKill {
  victim: TaskVictim;
  /** epoch milliseconds */
  at: number;
  /**
   * ms until it serves again; for a container: until the task continues in another or is over; null for an operation
   */
  recoveryMs: number | null;
  /** of the kennel: ms until a line that was written after the kill is stored; null when no container wrote any */
  followedMs: number | null;
}

/** Mostly those that have a part in coding tasks. */
const WEIGHTED: ReadonlyArray<Exclude<TaskVictim, 'dockerd'>> = [
  ...([
    'kennel',
    'kennel',
    'kennel',
    'kennel',
    'worker',
    'worker',
    'container',
    'container',
    'container',
    'operation',
    'operation',
  ] as const),
  ...(['gateway', 'api', 'postgres', 'temporal', 'supervisor'] as const),
];

/** A task whose container dies more often has failed, by rule: it is not driven there. */
const MOST_DEATHS = 2;
const SERVES_MS = 120_000;
const FOLLOWED_MS = 20_000;

export interface Engine {
  /** containers of this instance that are running */
  running(): Promise<Container[]>;
  /** all of them, in any state */
  all(): Promise<Container[]>;
  /**
   * Those that nobody needs any more: of tasks, or not running. A container of the workspace program is kept for the
   * next operation for two minutes.
   */
  left(): Promise<Container[]>;
}

export interface Container {
  id: string;
  name: string;
  /** null for an operation */
  taskId: string | null;
  step: string;
  status: string;
}

/** The containers of a home; `hosts`: the kennel hosts that share it, one where none is named. */
export function engineOf({
  home,
  hosts = [undefined],
}: {
  home: string;
  hosts?: ReadonlyArray<string | undefined>;
}): Engine {
  const list = async (flags: string[]): Promise<Container[]> =>
    (await Promise.all(hosts.map((host) => listOf(flags, host)))).flat();
  const listOf = async (flags: string[], host: string | undefined): Promise<Container[]> => {
    const format = '{{.ID}}\t{{.Names}}\t{{.Label "fetch.run"}}\t{{.Label "fetch.step"}}\t{{.Status}}';
    const { stdout } = await execute('docker', [
      'ps',
      ...flags,
      '--no-trunc',
      '--filter',
      `label=fetch.home=${homeLabel(home, host)}`,
      '--format',
      format,
    ]);
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const [id = '', name = '', taskId = '', step = '', status = ''] = line.split('\t');
        return { id, name, taskId: taskId || null, step, status };
      });
  };
  const all = (): Promise<Container[]> => list(['-a']);
  const left = async () => (await all()).filter(({ taskId, status }) => taskId !== null || !status.startsWith('Up'));
  return { running: () => list([]), all, left };
}

export interface TaskKiller {
  /** Kills this one, or one at random; null when there was nothing of the kind to be killed. */
  strike(victim?: TaskVictim): Promise<TaskKill | null>;
  /** how often the containers of a task were killed */
  deaths: Map<string, number>;
}

export function createTaskKiller(app: TestApp, random: Random): TaskKiller {
  const engine = engineOf(app);
  const deaths = new Map<string, number>();
  const died = (taskId: string) => deaths.set(taskId, (deaths.get(taskId) ?? 0) + 1);

  const strikeContainer = async (victim: 'container' | 'operation'): Promise<TaskKill | null> => {
    const running = await engine.running();
    const prey = running.filter(({ taskId }) =>
      victim === 'operation' ? taskId === null : taskId !== null && (deaths.get(taskId) ?? 0) < MOST_DEATHS,
    );
    if (prey.length === 0) return null;
    const { id, taskId, step } = random.pick(prey);
    const at = Date.now();
    // it may have ended by itself in this moment
    if (!(await execute('docker', ['kill', id]).catch(() => null))) return null;
    if (taskId === null) return { victim, at, recoveryMs: null, followedMs: null };
    died(taskId);
    await until(
      `task ${taskId} goes on`,
      async () => {
        const task = await app.store.db
          .selectFrom('tasks')
          .select(['step', 'state', 'ended_at'])
          .where('id', '=', taskId)
          .executeTakeFirstOrThrow();
        // a task that waits for its person, or is paused, continues after that
        return (
          task.ended_at !== null || task.step > Number(step) || task.state === 'waiting' || task.state === 'paused'
        );
      },
      SERVES_MS,
    );
    return { victim, at, recoveryMs: Date.now() - at, followedMs: null };
  };

  const strikeEngine = async (): Promise<TaskKill | null> => {
    for (const { taskId } of await engine.running()) if (taskId !== null) died(taskId);
    const at = Date.now();
    process.kill(Number(readFileSync('/var/run/docker.pid', 'utf8')), 'SIGKILL');
    await execute(ENGINE, [], { env: childEnvironment({}) });
    return { victim: 'dockerd', at, recoveryMs: Date.now() - at, followedMs: null };
  };

  const strikeRole = async (victim: Victim): Promise<TaskKill | null> => {
    const at = Date.now();
    const old = app.state().roles.find((role) => role.name === victim)?.pid;
    if (!(await kill(app, victim))) return null;
    const followed = victim === 'kennel' ? followedAgain(app, at) : null;
    await until(
      `${victim} serves again`,
      () =>
        victim === 'supervisor' ||
        app.state().roles.some((role) => role.name === victim && role.state === 'ready' && role.pid !== old),
      SERVES_MS,
    );
    const recoveryMs = Date.now() - at;
    return { victim, at, recoveryMs, followedMs: await followed };
  };

  return {
    deaths,
    strike: async (victim = random.pick(WEIGHTED)) => {
      if (victim === 'container' || victim === 'operation') return await strikeContainer(victim);
      return victim === 'dockerd' ? await strikeEngine() : await strikeRole(victim);
    },
  };
}

async function followedAgain(app: TestApp, at: number): Promise<number | null> {
  const stored = () =>
    app.store.db.selectFrom('task_log').select('seq').where('at', '>', new Date(at)).limit(1).executeTakeFirst();
  return await until('lines are stored again', stored, FOLLOWED_MS).then(
    () => Date.now() - at,
    () => null,
  );
}

/** True when the engine runs nothing but this instance's containers: only then may it be killed. */
export async function ownsEngine(app: TestApp): Promise<boolean> {
  const { stdout } = await execute('docker', ['ps', '-q', '--no-trunc']);
  const own = new Set((await engineOf(app).running()).map(({ id }) => id));
  return stdout
    .split('\n')
    .filter(Boolean)
    .every((id) => own.has(id));
}

/** Waits until the engine is this instance's alone; false when that does not come. */
export async function waitForEngine(app: TestApp, ms: number): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(500))
    if (await ownsEngine(app).catch(() => false)) return true;
  return false;
}
