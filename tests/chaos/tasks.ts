import { setTimeout as sleep } from 'node:timers/promises';
import { startTestApp, type TestApp } from '../support/app.ts';
import { requireDocker } from '../support/docker.ts';
import { kennelReady, workspace } from '../support/kennel-app.ts';
import { until } from '../support/until.ts';
import { audit, type Findings, settled } from './audit.ts';
import type { Expected } from './chats.ts';
import { createClient } from './client.ts';
import { processesOf } from './killer.ts';
import { seeded } from './random.ts';
import { auditTasks, swept, type TaskCounts } from './tasks-audit.ts';
import { auditWorkspace, leaveWork } from './tasks-git.ts';
import { createTaskKiller, type TaskKill, type TaskKiller, waitForEngine } from './tasks-killer.ts';
import { livesThrough, type Made, type People } from './tasks-people.ts';
import { type Plan, planTasks } from './tasks-plan.ts';

export interface TaskChaosOptions {
  seed: number;
  tasks: number;
  kills: number;
  /** of these, kills of the Docker engine itself; each is left out where other containers run on it */
  engineKills?: number;
  /** tasks that are under way at once, those that wait for a workspace included */
  people?: number;
  workspaces?: number;
  /** stop killing after so long even when fewer were done */
  maxMinutes?: number;
  onKill?: (kill: TaskKill) => void;
  /** looks at the instance before it is gone */
  inspect?: (app: TestApp, made: readonly Made[], kills: readonly TaskKill[]) => Promise<void> | void;
}

export interface TaskChaosResult extends Findings, TaskCounts {
  kills: TaskKill[];
  /** kills of the engine that were left out */
  skipped: number;
  /** requests for a task that had to be repeated because the host had no containers at that moment */
  refused: number;
  retries: number;
  seconds: number;
}

/** Small, so that many questions outlive their container. */
const HOLD_MS = 4_000;
/** Tasks may be so many kills ahead: every kill needs something that it can hit. */
const AHEAD = 3;
const ENGINE_PATIENCE_MS = 60_000;
/** Before a kill the tasks are given so long to catch up: a container that always dies at once proves little. */
const CATCH_UP_MS = 20_000;

/** A whole instance whose people have coding tasks done while its processes, containers and the engine are killed. */
export async function runTaskChaos(options: TaskChaosOptions): Promise<TaskChaosResult> {
  await requireDocker();
  const app = await startTestApp({
    ...processesOf(options.seed),
    FETCH_AUTONOMY: 'autonomous',
    FETCH_KENNEL_SLOTS: '4',
    FETCH_KENNEL_MEMORY_MB: '512',
    FETCH_TASK_HOLD_MINUTES: String(HOLD_MS / 60_000),
  });
  try {
    await kennelReady(app);
    return await workAndKill(app, options);
  } finally {
    await app.close();
  }
}

async function workAndKill(app: TestApp, options: TaskChaosOptions): Promise<TaskChaosResult> {
  const begun = Date.now();
  const random = seeded(options.seed);
  const workspaces = Array.from({ length: options.workspaces ?? 6 }, (_, at) => `w${at + 1}`);
  for (const name of workspaces) leaveWork((await workspace(app, name)).path);
  const plans = planTasks(random, { tasks: options.tasks, workspaces, holdMs: HOLD_MS });

  const expected: Expected[] = [];
  const problems: string[] = [];
  let refused = 0;
  const client = createClient(app);
  const people: People = {
    app,
    client,
    live: new Map(),
    record: (message) => void expected.push(message),
    problem: (text) => void problems.push(text),
    refused: () => {
      refused += 1;
    },
  };
  const kills: TaskKill[] = [];
  let over = false;
  // kills wait for something to hit, and tasks for kills: where nothing is under way, the tasks go first
  const allowed = (begunTasks: number) =>
    over || people.live.size === 0 || begunTasks < ((kills.length + AHEAD) * options.tasks) / options.kills;
  const made: Made[] = [];
  const crew = options.people ?? 8;
  let idle = false;
  const working = work(people, plans, crew, made, allowed).finally(() => {
    idle = true;
  });
  const caughtUp = () => made.length >= (kills.length * options.tasks) / options.kills - crew;
  const killer = createTaskKiller(app, random);
  const skipped = await killOnAndOn(app, killer, random, options, kills, people, caughtUp, () => idle).finally(() => {
    over = true;
  });
  await working;
  await app.whenReady();
  await settled(app.store.db);
  await swept(app, made);

  await options.inspect?.(app, made, kills);
  const findings = await audit(app.store.db, expected, app.model.requests());
  findings.lost.push(...problems);
  const counts = await auditTasks(app, made, findings);
  for (const name of workspaces) await auditWorkspace(app, name, made, findings);
  return {
    ...findings,
    ...counts,
    kills,
    skipped,
    refused,
    retries: client.retries(),
    seconds: Math.round((Date.now() - begun) / 1000),
  };
}

/** Each person takes the next task when their last one is over, as soon as it is allowed. */
export async function work(
  people: People,
  plans: readonly Plan[],
  count: number,
  made: Made[],
  allowed: (begun: number) => boolean,
): Promise<void> {
  let next = 0;
  const person = async (): Promise<void> => {
    while (next < plans.length) {
      if (!allowed(next)) {
        await sleep(200);
        continue;
      }
      const plan = plans[next]!;
      next += 1;
      await livesThrough(people, plan).then(
        (one) => void made.push(one),
        (error: Error) => people.problem(`${plan.name}: ${error.message}`),
      );
    }
  };
  await Promise.all(Array.from({ length: count }, person));
}

/**
 * Kills one after the other, while something is under way and until nothing will be; the engine at even distances. The
 * kills of the engine that were left out.
 */
async function killOnAndOn(
  app: TestApp,
  killer: TaskKiller,
  random: ReturnType<typeof seeded>,
  options: TaskChaosOptions,
  kills: TaskKill[],
  people: People,
  caughtUp: () => boolean,
  idle: () => boolean,
): Promise<number> {
  const end = Date.now() + (options.maxMinutes ?? Number.POSITIVE_INFINITY) * 60_000;
  const engineKills = options.engineKills ?? 0;
  const every = engineKills > 0 ? Math.floor(options.kills / engineKills) : Number.POSITIVE_INFINITY;
  let engineDone = 0;
  let skipped = 0;
  while (kills.length < options.kills && Date.now() < end) {
    await sleep(random.between(0, 2_500));
    // the last tasks may end before the last kills: those would hit nothing
    if (idle()) break;
    if (people.live.size === 0) continue;
    await until('the tasks have caught up', caughtUp, CATCH_UP_MS).catch(() => null);
    const engineNow =
      kills.length >= (engineDone + skipped) * every + Math.floor(every / 2) && engineDone + skipped < engineKills;
    if (engineNow && !(await waitForEngine(app, ENGINE_PATIENCE_MS))) {
      skipped += 1;
      continue;
    }
    const killed = await killer.strike(engineNow ? 'dockerd' : undefined);
    if (!killed) continue;
    if (engineNow) engineDone += 1;
    kills.push(killed);
    options.onKill?.(killed);
  }
  return skipped;
}
