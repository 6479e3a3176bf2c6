import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Kennel } from '../../../adapters/kennel/kennel.ts';
import type { Config } from '../../../config.ts';
import type { BudgetStop, Followed, FollowInput } from '../../../contracts/task.ts';
import { spentText } from '../../../domain/model/budget-texts.ts';
import { breachText, taskBreach, taskBudget, taskUse } from '../../../domain/model/budgets.ts';
import { type BudgetFacts, budgetsOf, type Mark, nearlyUsedUp, usedUp } from '../../../domain/model/spending.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { signalArrival } from '../../../gateway/intake/signal.ts';
import type { Task } from '../../../store/kennel/tasks/tasks.ts';
import { budgetsOfTask } from '../../../store/kennel/tasks/usage.ts';
import { askAtLimit } from '../../../store/turns/questions/budget-questions.ts';
import type { KennelDeps } from '../../activity-deps.ts';
import { tellNear } from '../../turn/limits/budgets.ts';
import { lastWritten, type Read, readLog } from './folder.ts';
import { dayLimit } from './model-limit.ts';

const run = promisify(execFile);

/** Disk space that a folder uses, in MB; 0 when unknown. Files change while `du` counts, so its errors are ignored. */
async function folderMegabytes(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sm', folder], { timeout: 10_000 }).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? '',
  }));
  return Number.parseInt(stdout, 10) || 0;
}

/** Free disk space at a folder, in MB; null when unknown. */
async function freeMegabytes(folder: string): Promise<number | null> {
  const left = await statfs(folder).catch(() => null);
  return left && Math.floor((left.bavail * left.bsize) / 2 ** 20);
}

/** Reasons to end a run besides its own last line. */

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
/** An event for the workflow, without the position in the log. */
export type Stop = DistributiveOmit<Followed, 'offset' | 'spent'>;

const overBudget = (reason: string): Stop => ({ what: 'budget', reason });

/** How long a log with much unread is read on after the deadline. */
const CATCH_UP_MS = 5_000;

/** A log has its own limit: each line is a row, an event and something for a person to read. */
export function logBreach(
  { FETCH_TASK_MAX_LOG_LINES, FETCH_TASK_MAX_LOG_MB }: Config,
  lines: number,
  bytes: number,
): Stop | null {
  if (lines > FETCH_TASK_MAX_LOG_LINES)
    return overBudget(`The agent printed more than ${FETCH_TASK_MAX_LOG_LINES} lines, and no more are allowed.`);
  if (bytes > FETCH_TASK_MAX_LOG_MB * 2 ** 20)
    return overBudget(
      `The agent printed ${Math.ceil(bytes / 2 ** 20)} MB, and ${FETCH_TASK_MAX_LOG_MB} MB are allowed.`,
    );
  return null;
}

export async function folderBreach({ FETCH_KENNEL_DISK_MB }: Config, folder: string): Promise<Stop | null> {
  const megabytes = await folderMegabytes(folder);
  return megabytes > FETCH_KENNEL_DISK_MB
    ? overBudget(`The agent's files took ${megabytes} MB, and ${FETCH_KENNEL_DISK_MB} MB are allowed.`)
    : null;
}

/** What a run is to stop for, or not even to begin: a budget of money or tokens is used up. */
export async function spendingBreach(
  deps: Pick<KennelDeps, 'db' | 'config' | 'temporal'>,
  task: Task,
  { waitsForLimits, asksAtBudget }: Pick<FollowInput, 'waitsForLimits' | 'asksAtBudget'>,
): Promise<Stop | null> {
  const { db, config } = deps;
  const facts = await budgetsOfTask(db, task.id, config.FETCH_TIME_ZONE);
  if (!facts) return null;
  const budgets = budgetsOf('task', facts, config);
  const mark = usedUp(budgets);
  if (mark && asksAtBudget) return { what: 'budget', ...(await askForTask(deps, task, facts, mark)) };
  if (mark) {
    const breach = taskBreach(taskBudget(config), taskUse(facts));
    return (waitsForLimits ? dayLimit(mark) : null) ?? (breach && overBudget(breachText(breach)));
  }
  await tellNear(deps, facts, nearlyUsedUp(budgets, { orMore: false }));
  return null;
}

async function askForTask(
  deps: Pick<KennelDeps, 'db' | 'config' | 'temporal'>,
  task: Task,
  { account }: BudgetFacts,
  mark: Mark,
): Promise<BudgetStop> {
  const asked = await askAtLimit(
    deps.db,
    {
      id: task.id,
      threadId: task.thread_id,
      taskId: task.id,
      account,
      waits: (say) => say('budget.taskWaits', { workspace: task.workspace, goal: inline(task.goal, 80) }),
    },
    mark,
  );
  if (asked.state === 'refused')
    return { reason: `${spentText(mark)} No more is to be spent on it; what was done so far is kept.` };
  // if the signal fails, the sweeper finds the row
  if (asked.told) await signalArrival(deps, asked.told).catch(() => {});
  return { reason: spentText(mark), asks: { questionId: asked.questionId, opensAt: asked.opensAt } };
}

/** A workspace has no size limit, and the database may be on the same disk. */
export async function diskBreach({ FETCH_KENNEL_FREE_MB }: Config, folder: string): Promise<Stop | null> {
  const free = await freeMegabytes(folder);
  if (free === null || free >= FETCH_KENNEL_FREE_MB) return null;
  return overBudget(`The disk of the host has ${free} MB left, and ${FETCH_KENNEL_FREE_MB} MB must stay free.`);
}

/** The working time is used up, or nothing was said for too long. `began`: when this attempt to follow started. */
export async function timeBreach(
  folder: string,
  read: Read,
  at: { deadline: number; began: number; silenceMs: number },
): Promise<Stop | null> {
  // unread lines may hold the end, from before the deadline
  if (Date.now() >= at.deadline + (read.more ? CATCH_UP_MS : 0)) return { what: 'timeout' };
  const heard = Math.max((await lastWritten(folder)) ?? 0, at.began);
  return Date.now() - heard >= at.silenceMs ? { what: 'silent' } : null;
}

/** The container has ended and left nothing to read. */
export async function containerGone(
  kennel: Kennel,
  config: Config,
  step: { taskId: string; step: number },
  folder: string,
  read: Read,
): Promise<Stop | null> {
  // an engine that does not answer says nothing about the container, so the log is followed without it
  const container = await kennel.inspect(step.taskId, step.step).catch(() => undefined);
  if (container === undefined || (container && container.state !== 'exited')) return null;
  // the last lines may have been written after the read above
  if ((await readLog(folder, read.offset)).lines.length > 0) return null;
  if (container?.outOfMemory)
    return {
      what: 'gone',
      oom: true,
      reason: `The container ran out of memory: it may have ${config.FETCH_KENNEL_MEMORY_MB} MB.`,
    };
  const reason = container
    ? `The container ended without a last log line (exit code ${container.exitCode}).`
    : 'The container is gone.';
  return { what: 'gone', oom: false, reason };
}
