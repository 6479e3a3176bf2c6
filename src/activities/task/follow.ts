import { setTimeout as pause } from 'node:timers/promises';
import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Config } from '../../config.ts';
import type { LogLine } from '../../contracts/kennel.ts';
import type { Followed, FollowInput, TaskSpending } from '../../contracts/task.ts';
import { breachText, taskBreach, taskBudget } from '../../domain/model/budgets.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { cut } from '../../store/chats/ids.ts';
import { countLines, doing, storeLines } from '../../store/kennel/task-log.ts';
import { taskQuestionId } from '../../store/kennel/task-questions.ts';
import { findTask, isOver, type Task } from '../../store/kennel/tasks.ts';
import { budgetUse, usageOf } from '../../store/kennel/usage.ts';
import { asFailure, fail } from '../failure.ts';
import { HEARTBEAT_MS } from '../heartbeat.ts';
import type { KennelDeps } from './deps.ts';
import { createTaskProgress } from './progress.ts';
import { lastWritten, type Read, readLog, runFolder, watchLog } from './run/folder.ts';
import { createLogPace } from './run/log-pace.ts';
import { folderMegabytes, freeMegabytes } from './run/size.ts';

/** A log is looked at when it has grown, and this often besides. */
const LOOK_MS = 200;
/** How often the container and the budget are looked at. */
const CHECK_MS = 1_000;
const MEASURE_MS = 15_000;
/** A new process of this host is there after this long. */
const RESTART_MS = 500;
/** A log of which much is unread at the deadline is read on for this long. */
const CATCH_UP_MS = 5_000;

/**
 * Follows the log of a step until the workflow is needed. The heartbeat carries the offset, and every line is stored by its
 * number: whoever follows next goes on after the last stored line, and shows none twice.
 */
export const createFollow =
  (deps: KennelDeps) =>
  async (input: FollowInput): Promise<Followed> => {
    const { db, config, kennel } = deps;
    const info = activityInfo();
    const signal = cancellationSignal();
    const folder = runFolder(config, input.taskId);
    // what an attempt before this one has stored need not be read again
    let offset = Math.max((info.heartbeatDetails as { offset?: number } | undefined)?.offset ?? 0, input.offset);
    const showsText = config.FETCH_UI_TEXT === 'on';
    let said: string | null = null;
    const beats = setInterval(() => heartbeat({ offset, ...(said && { doing: cut(said, 100) }) }), HEARTBEAT_MS);
    const log = watchLog(folder, signal);
    try {
      const task = await findTask(db, input.taskId);
      if (!task) throw fail('NotFound', `Task ${input.taskId} is not in the database.`);
      if (isOver(task.state)) throw fail('NotFound', `Task ${input.taskId} is over.`);
      const progress = createTaskProgress(deps, task);
      const pace = createLogPace();
      let lines = await countLines(db, task.id);
      const deadline = info.scheduledTimestampMs + input.remainingMs;
      const began = Date.now();
      let checkedAt = 0;
      let measuredAt = Date.now();
      for (;;) {
        signal.throwIfAborted();
        // the container goes on by itself, and whoever follows next goes on here
        if (deps.draining.aborted) throw fail('KennelUnavailable', 'This host is being restarted.', { nextRetryDelayMs: RESTART_MS });
        const read = await readLog(folder, offset);
        const stop = stopLine(read.lines, input.step);
        if (stop) {
          const count = read.lines.indexOf(stop) + 1;
          await store(task, read.lines.slice(0, count), progress);
          return { offset: read.ends[count - 1]!, spent: await spending(), ...asFollowed(task, stop, showsText) };
        }
        await store(task, read.lines, progress);
        const wait = pace.took(read.lines.length, read.offset - offset);
        lines += read.lines.length;
        offset = read.offset;

        // also while more is there: a flood must not keep a task from its limits
        const now = Date.now();
        if (now - checkedAt >= CHECK_MS) {
          checkedAt = now;
          const ended = logBreach(config, lines, read.size) ?? (await endOf(task, input, read, deadline, began));
          if (ended) return { offset, spent: await spending(), ...ended };
          if (said && now - began >= input.progressMs) return { offset, spent: await spending(), what: 'progress', doing: said };
        }
        if (now - measuredAt >= MEASURE_MS) {
          measuredAt = now;
          const ended = await folderBreach(config, folder);
          if (ended) return { offset, spent: await spending(), ...ended };
        }
        if (!read.more) await log.grown(LOOK_MS);
        else if (wait > 0) await pause(Math.min(wait, CHECK_MS), undefined, { signal });
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw asFailure(error);
    } finally {
      log.close();
      clearInterval(beats);
    }

    async function spending(): Promise<TaskSpending> {
      const { inputTokens, outputTokens, microUsd } = await usageOf(db, input.taskId);
      return { tokens: inputTokens + outputTokens, microUsd };
    }

    async function store(task: Task, lines: LogLine[], progress: ReturnType<typeof createTaskProgress>): Promise<void> {
      const added = await storeLines(db, task, lines);
      const news = added.map(doing).findLast((text) => text !== null) ?? null;
      said = added.map((line) => (isAsking(line) && !showsText ? ASKING[line.type] : doing(line))).findLast((text) => text !== null) ?? said;
      await progress(news);
    }

    /** What ends a step besides its own last line. */
    async function endOf(task: Task, at: FollowInput, read: Read, deadline: number, began: number): Promise<Stop | null> {
      const breach = taskBreach(taskBudget(config), await budgetUse(db, task.id));
      if (breach) return { what: 'budget', reason: breachText(breach) };
      // a workspace has no bound of its own, and the database may be on the same disk
      const free = await freeMegabytes(folder);
      if (free !== null && free < config.FETCH_KENNEL_FREE_MB)
        return { what: 'budget', reason: `The disk of the host has ${free} MB left; FETCH_KENNEL_FREE_MB keeps ${config.FETCH_KENNEL_FREE_MB} MB free.` };
      // what waits in the log may be the end, from before the deadline
      if (Date.now() >= deadline + (read.more ? CATCH_UP_MS : 0)) return { what: 'timeout' };
      if (Date.now() - Math.max((await lastWritten(folder)) ?? 0, began) >= at.silenceMs) return { what: 'silent' };
      // an engine that does not answer says nothing about the container: the log goes on without it
      const container = await kennel.inspect(task.id, at.step).catch(() => undefined);
      if (container === undefined || (container && container.state !== 'exited')) return null;
      // its last lines may have been written after the read above
      if ((await readLog(folder, read.offset)).lines.length > 0) return null;
      return container?.outOfMemory
        ? { what: 'gone', oom: true, reason: `The container ran out of memory (FETCH_KENNEL_MEMORY_MB allows ${config.FETCH_KENNEL_MEMORY_MB} MB).` }
        : {
            what: 'gone',
            oom: false,
            reason: container ? `The container ended without a last word (exit code ${container.exitCode}).` : 'The container is gone.',
          };
    }
  };

/** A log has a bound of its own: each line is a row, an event and something to read for a person. */
function logBreach({ FETCH_TASK_MAX_LOG_LINES, FETCH_TASK_MAX_LOG_MB }: Config, lines: number, bytes: number): Stop | null {
  if (lines > FETCH_TASK_MAX_LOG_LINES)
    return { what: 'budget', reason: `It wrote more than ${FETCH_TASK_MAX_LOG_LINES} lines to its log; FETCH_TASK_MAX_LOG_LINES allows no more.` };
  if (bytes > FETCH_TASK_MAX_LOG_MB * 2 ** 20)
    return { what: 'budget', reason: `Its log grew to ${Math.ceil(bytes / 2 ** 20)} MB; FETCH_TASK_MAX_LOG_MB allows ${FETCH_TASK_MAX_LOG_MB}.` };
  return null;
}

async function folderBreach({ FETCH_KENNEL_DISK_MB }: Config, folder: string): Promise<Stop | null> {
  const megabytes = await folderMegabytes(folder);
  return megabytes > FETCH_KENNEL_DISK_MB
    ? { what: 'budget', reason: `Its folder took ${megabytes} MB; FETCH_KENNEL_DISK_MB allows ${FETCH_KENNEL_DISK_MB}.` }
    : null;
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type Stop = DistributiveOmit<Followed, 'offset' | 'spent'>;
type StopLine = Extract<LogLine, { type: 'question' | 'permission' | 'ended' }>;

/** The container says why it ended: one line of it stands in our sentences. */
const REASON_CHARS = 600;

/** The first line that the workflow must hear of. */
const stopLine = (lines: readonly LogLine[], step: number): StopLine | undefined =>
  lines.find((line): line is StopLine => line.step === step && (line.type === 'question' || line.type === 'permission' || line.type === 'ended'));

const ASKING = { question: 'asks a question', permission: 'asks for a permission' };
const isAsking = (line: LogLine): line is Extract<LogLine, { type: 'question' | 'permission' }> => line.type === 'question' || line.type === 'permission';

/** `showsText`: whether the Temporal Web UI may show the words of a question. */
function asFollowed(task: Task, line: StopLine, showsText: boolean): Stop {
  if (line.type === 'ended') return { what: 'ended', outcome: line.outcome, reason: inline(line.reason, REASON_CHARS) };
  const words = line.type === 'question' ? line.question : line.title;
  const title = showsText ? inline(words, 60) : `a ${line.type}`;
  return { what: line.type, questionId: taskQuestionId(task.id, line.id), title };
}
