import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from '../support/app.ts';
import { linesOf } from '../support/kennel-app.ts';
import { runTaskChaos, type TaskChaosOptions, type TaskChaosResult } from './tasks.ts';
import type { TaskKill, TaskVictim } from './tasks-killer.ts';
import { findTask, type Made } from './tasks-people.ts';

const VICTIMS: readonly TaskVictim[] = [
  'kennel',
  'worker',
  'container',
  'operation',
  'gateway',
  'api',
  'postgres',
  'temporal',
  'supervisor',
  'dockerd',
];

/** The long run; prints its figures and returns the exit code. */
export async function soakTasks(options: TaskChaosOptions, folder?: string): Promise<number> {
  let count = 0;
  const onKill = ({ victim, recoveryMs, followedMs }: TaskKill): void => {
    count += 1;
    const served = recoveryMs === null ? '' : `: serves again after ${recoveryMs} ms`;
    console.log(
      `${count}/${options.kills} ${victim}${served}${followedMs === null ? '' : `, follows again after ${followedMs} ms`}`,
    );
  };
  const result = await runTaskChaos({
    ...options,
    onKill,
    ...(folder && { inspect: (app, made, kills) => keep(app, made, kills, folder) }),
  });
  console.log(taskReport(result));
  return result.lost.length + result.doubled.length + result.stuck.length > 0 ? 1 : 0;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const present = (values: ReadonlyArray<number | null>): number[] => values.filter((value) => value !== null);

export function taskReport(result: TaskChaosResult): string {
  const rows = VICTIMS.map((victim) => {
    const kills = result.kills.filter((kill) => kill.victim === victim);
    const times = present(kills.map((kill) => kill.recoveryMs));
    return `| ${victim} | ${kills.length} | ${times.length ? `${median(times)} | ${Math.max(...times)}` : '| '} |`;
  });
  const followed = present(result.kills.map((kill) => kill.followedMs));
  const { ended, questions, took } = result;
  return [
    '| victim | kills | serves again p50, ms | max, ms |',
    '|---|---:|---:|---:|',
    ...rows,
    '',
    `kills ${result.kills.length}, kills of the engine that were left out ${result.skipped}, seconds ${result.seconds}`,
    `tasks ${ended.completed + ended.failed + ended.cancelled}: completed ${ended.completed}, failed ${ended.failed}, cancelled ${ended.cancelled}; containers ${result.steps}; lines ${result.lines}`,
    `questions ${questions.asked}: answered ${questions.answered}, cancelled with their task ${questions.cancelled}; sessions parked ${questions.parked}`,
    `a killed kennel: lines stored again after ${median(followed)} ms, at most ${Math.max(0, ...followed)} ms (${followed.length} measured)`,
    `a task took ${Math.round(took.median / 1000)} s (median), at most ${Math.round(took.longest / 1000)} s; requests repeated by clients ${result.retries}, tasks refused at first ${result.refused}`,
    `lost ${result.lost.length}, doubled ${result.doubled.length}, stuck ${result.stuck.length}`,
    ...[...result.lost, ...result.doubled, ...result.stuck].map((finding) => `- ${finding}`),
  ].join('\n');
}

/**
 * Writes what a defect is found by into a folder: the logs of all roles, the workspaces, every task with its plan and
 * lines, and the kills.
 */
export async function keep(
  app: TestApp,
  made: readonly Made[],
  kills: readonly TaskKill[],
  folder: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  cpSync(join(app.home, 'logs'), join(folder, 'logs'), { recursive: true });
  cpSync(join(app.home, 'workspaces'), join(folder, 'workspaces'), { recursive: true });
  const tasks = await Promise.all(
    made.map(async (one) => ({
      ...one,
      row: await findTask(app, one.taskId),
      questions: await app.store.db.selectFrom('questions').selectAll().where('task_id', '=', one.taskId).execute(),
      lines: (await linesOf(app, one.taskId)).map((line) => JSON.stringify(line)),
    })),
  );
  writeFileSync(join(folder, 'tasks.json'), JSON.stringify(tasks, null, 1));
  writeFileSync(
    join(folder, 'kills.txt'),
    kills
      .map((kill) => `${new Date(kill.at).toISOString()} ${kill.victim} ${kill.recoveryMs} ${kill.followedMs}\n`)
      .join(''),
  );
}
