import { setTimeout as pause } from 'node:timers/promises';
import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import { runFolder } from '../../adapters/kennel/run-folders.ts';
import type { LogLine } from '../../contracts/kennel.ts';
import type { Followed, FollowInput } from '../../contracts/task.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { cut } from '../../store/chats/ids.ts';
import { dueEgress } from '../../store/kennel/questions/egress-questions.ts';
import { taskQuestionId } from '../../store/kennel/questions/task-questions.ts';
import { countLines, doing, openCalls, storeLines } from '../../store/kennel/tasks/task-log.ts';
import { unheardWords } from '../../store/kennel/tasks/task-words.ts';
import { findTask, isOver, type Task } from '../../store/kennel/tasks/tasks.ts';
import { usageOf } from '../../store/kennel/tasks/usage.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { asFailure, fail } from '../failure.ts';
import { HEARTBEAT_MS } from '../heartbeat.ts';
import { createProgress, taskProgress } from '../progress.ts';
import { needsAnotherPass } from './another-pass.ts';
import { passWords } from './prompt-of-run.ts';
import { type Read, readLog, watchLog } from './run/folder.ts';
import {
  containerGone,
  diskBreach,
  folderBreach,
  logBreach,
  type Stop,
  spendingBreach,
  timeBreach,
} from './run/limits.ts';
import { endedAtLimit, loginAnswered, modelLimit } from './run/model-limit.ts';
import { SlowCalls, tellSlow } from './run/slow-calls.ts';

/** How often a log is looked at besides each time it grows. */
const LOOK_MS = 200;
/** How often the container and the budget are checked. */
const CHECK_MS = 1_000;
const MEASURE_MS = 15_000;
/** Within this time a new process of this host is up. */
const RESTART_MS = 500;

/** State of one attempt to follow a run. */
interface Following {
  deps: KennelDeps;
  input: FollowInput;
  folder: string;
  /** where the next read begins: everything before is stored */
  offset: number;
  /** number of stored lines of the task */
  lines: number;
  /** the latest progress that operators may read */
  said: string | null;
  slow: SlowCalls;
  /** words of the person that were passed on, by their ids */
  passed: Set<string>;
  began: number;
  deadline: number;
  checkedAt: number;
  measuredAt: number;
}

/** How fast a log is stored. A working agent stays far below; a flood waits in its file, which has a limit. */
const LINES_PER_SECOND = 500;
const BYTES_PER_SECOND = 1024 * 1024;
/** What may come at once, because a host that was away must catch up. */
const BURST_SECONDS = 10;

interface LogPace {
  /** Records what was stored; returns how many ms to wait before more. */
  took(lines: number, bytes: number, now?: number): number;
}

function createLogPace(): LogPace {
  let owed = { lines: 0, bytes: 0 };
  let since = Date.now();
  return {
    took(lines, bytes, now = Date.now()) {
      const seconds = (now - since) / 1000;
      since = now;
      owed = {
        lines: Math.max(0, owed.lines - seconds * LINES_PER_SECOND) + lines,
        bytes: Math.max(0, owed.bytes - seconds * BYTES_PER_SECOND) + bytes,
      };
      const behind = Math.max(owed.lines / LINES_PER_SECOND, owed.bytes / BYTES_PER_SECOND) - BURST_SECONDS;
      return Math.max(0, Math.ceil(behind * 1000));
    },
  };
}

/**
 * Follows the log of a run until the workflow is needed. The heartbeat carries the offset, and every line is stored
 * under its number: the next attempt continues after the last stored line and stores none twice.
 */
export const createFollow = (deps: KennelDeps) => {
  // each attempt ends after a minute of progress, and a slow call goes on over many of them
  const slowCalls = new LRUCache<string, SlowCalls>({ max: 100 });
  return async (input: FollowInput): Promise<Followed> => {
    const signal = cancellationSignal();
    const at = begin(deps, input, slowCalls.get(input.taskId));
    const beats = setInterval(
      () => heartbeat({ offset: at.offset, ...(at.said && { doing: cut(at.said, 100) }) }),
      HEARTBEAT_MS,
    );
    const log = watchLog(at.folder, signal);
    try {
      const task = await taskToFollow(deps, input.taskId);
      const progress = createProgress(deps, taskProgress(deps.db, task));
      const pace = createLogPace();
      at.lines = await countLines(deps.db, task.id);
      // another process has followed this run so far
      if (!slowCalls.has(task.id)) for (const line of await openCalls(deps.db, task.id, input.step)) at.slow.take(line);
      slowCalls.set(task.id, at.slow);
      for (;;) {
        signal.throwIfAborted();
        // the container goes on by itself, and the next attempt continues here
        if (deps.draining.aborted)
          throw fail('KennelUnavailable', 'This host is being restarted.', { nextRetryDelayMs: RESTART_MS });
        const read = await readLog(at.folder, at.offset);
        const stop = stopLine(read.lines, input.step);
        const taken = stop ? read.lines.indexOf(stop) + 1 : read.lines.length;
        await progress(await store(at, task, read.lines.slice(0, taken)));
        if (stop)
          return await followed(
            at,
            read.ends[taken - 1]!,
            (await limitBehind(at, task, stop)) ??
              (await wordsLeft(at, stop)) ??
              (await testsFail(at, task, stop)) ??
              asFollowed(task, stop, showsText(deps)),
          );
        const waitMs = pace.took(taken, read.offset - at.offset);
        at.lines += taken;
        at.offset = read.offset;
        // also while more lines wait: a flood must not keep a task from its limits
        const end = await look(at, read, task);
        if (end) return await followed(at, at.offset, end);
        if (!read.more) await log.grown(LOOK_MS);
        else if (waitMs > 0) await pause(Math.min(waitMs, CHECK_MS), undefined, { signal });
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw asFailure(error);
    } finally {
      log.close();
      clearInterval(beats);
    }
  };
};

function begin(deps: KennelDeps, input: FollowInput, slow = new SlowCalls()): Following {
  const info = activityInfo();
  // the heartbeat of the previous attempt says what is already stored
  const before = (info.heartbeatDetails as { offset?: number } | undefined)?.offset ?? 0;
  const now = Date.now();
  return {
    deps,
    input,
    folder: runFolder(deps.config, input.taskId),
    offset: Math.max(before, input.offset),
    lines: 0,
    said: null,
    slow,
    passed: new Set(),
    began: now,
    deadline: info.scheduledTimestampMs + input.remainingMs,
    checkedAt: 0,
    measuredAt: now,
  };
}

async function taskToFollow({ db }: KennelDeps, taskId: string): Promise<Task> {
  const task = await findTask(db, taskId);
  if (!task) throw fail('NotFound', `Task ${taskId} is not in the database.`);
  if (isOver(task.state)) throw fail('NotFound', `Task ${taskId} is over.`);
  return task;
}

/** Whether the Temporal Web UI may show the words of a question. */
const showsText = ({ config }: KennelDeps): boolean => config.FETCH_UI_TEXT === 'on';

/** Stores lines, and records progress for operators. Returns the latest progress worth telling the person. */
async function store(at: Following, task: Task, lines: LogLine[]): Promise<string | null> {
  const added = await storeLines(at.deps.db, task, lines);
  for (const line of lines) if (line.step === at.input.step) at.slow.take(line);
  at.said =
    added
      .map((line) => (isAsking(line) && !showsText(at.deps) ? ASKING[line.type] : doing(line)))
      .findLast((text) => text !== null) ?? at.said;
  return added.map(doing).findLast((text) => text !== null) ?? null;
}

/** Checks now and then for what ends a run besides its own last line. */
async function look(at: Following, read: Read, task: Task): Promise<Stop | null> {
  const { deps, input, folder } = at;
  const { config, db, kennel } = deps;
  const now = Date.now();
  if (now - at.checkedAt >= CHECK_MS) {
    at.checkedAt = now;
    const end =
      (input.waitsForLimits ? await modelLimit(db, input.taskId) : null) ??
      logBreach(config, at.lines, read.size) ??
      (await spendingBreach(deps, task, input)) ??
      (await diskBreach(config, folder)) ??
      (await timeBreach(folder, read, { deadline: at.deadline, began: at.began, silenceMs: input.silenceMs })) ??
      (await containerGone(kennel, config, input, folder, read)) ??
      (input.asksForHosts ? await hostsWanted(at, task) : null);
    if (end) return end;
    await passOnWords(at);
    for (const call of at.slow.due(now)) await tellSlow(deps, task, call);
    if (at.said && now - at.began >= input.progressMs) return { what: 'progress', doing: at.said };
  }
  if (now - at.measuredAt < MEASURE_MS) return null;
  at.measuredAt = now;
  return await folderBreach(config, folder);
}

/** The question about hosts that programs of the task wait for. */
async function hostsWanted({ deps }: Following, task: Task): Promise<Stop | null> {
  const due = await dueEgress(deps.db, task);
  return (
    due && {
      what: 'egress',
      questionId: due.questionId,
      title: showsText(deps) ? inline(due.hosts, 60) : 'hosts to reach',
    }
  );
}

/** The limit at which an agent failed; null when it ended for another reason. */
async function limitBehind({ deps, input }: Following, task: Task, line: StopLine): Promise<Stop | null> {
  if (line.type !== 'ended') return null;
  if (line.outcome === 'completed') await loginAnswered(deps, task);
  if (!input.waitsForLimits || line.outcome !== 'failed') return null;
  return (
    (input.asksAtBudget ? await spendingBreach(deps, task, input) : null) ?? (await endedAtLimit(deps, task, line))
  );
}

/** What the person says while the agent works, for its next prompt. */
async function passOnWords({ deps, input, passed }: Following): Promise<void> {
  if (!input.tells) return;
  const words = (await unheardWords(deps.db, input.taskId)).filter(({ id }) => !passed.has(id));
  if (words.length === 0) return;
  // it may have a plan by now
  const task = await taskToFollow(deps, input.taskId);
  await passWords(deps, task, input.step, words);
  for (const { id } of words) passed.add(id);
}

/** The agent has ended its turn, and words of the person came too late for it. */
async function wordsLeft({ deps, input }: Following, line: StopLine): Promise<Stop | null> {
  if (!input.tells || line.type !== 'ended' || line.outcome !== 'completed') return null;
  return (await unheardWords(deps.db, input.taskId)).length > 0 ? { what: 'told' } : null;
}

/** The agent has ended its turn, and tests fail that did not fail before its work. */
async function testsFail(at: Following, task: Task, line: StopLine): Promise<Stop | null> {
  if (!at.input.tells || line.type !== 'ended' || line.outcome !== 'completed') return null;
  at.said = 'looks whether the tests pass';
  return (await needsAnotherPass(at.deps, task, { step: at.input.step, deadline: at.deadline }))
    ? { what: 'told' }
    : null;
}

async function followed({ deps, input }: Following, offset: number, stop: Stop): Promise<Followed> {
  const { inputTokens, outputTokens, microUsd } = await usageOf(deps.db, input.taskId);
  return { offset, spent: { tokens: inputTokens + outputTokens, microUsd }, ...stop };
}

type StopLine = Extract<LogLine, { type: 'question' | 'permission' | 'ended' }>;

/** Length of a container's own reason for its end inside our sentences. */
const REASON_CHARS = 600;

/** The first line that the workflow must react to. */
const stopLine = (lines: readonly LogLine[], step: number): StopLine | undefined =>
  lines.find(
    (line): line is StopLine =>
      line.step === step && (line.type === 'question' || line.type === 'permission' || line.type === 'ended'),
  );

const ASKING = { question: 'asks a question', permission: 'asks for a permission' };
const isAsking = (line: LogLine): line is Extract<LogLine, { type: 'question' | 'permission' }> =>
  line.type === 'question' || line.type === 'permission';

function asFollowed(task: Task, line: StopLine, withText: boolean): Stop {
  if (line.type === 'ended') return { what: 'ended', outcome: line.outcome, reason: inline(line.reason, REASON_CHARS) };
  const words = line.type === 'question' ? line.question : line.title;
  const title = withText ? inline(words, 60) : `a ${line.type}`;
  return { what: line.type, questionId: taskQuestionId(task.id, line.id), title };
}
