import { rm } from 'node:fs/promises';
import { isAgent } from '../../../kennel/agents/registry.ts';
import { runFolder } from '../../adapters/kennel/run-folders.ts';
import { keepSession } from '../../adapters/sessions/places.ts';
import type { Concluded } from '../../contracts/task.ts';
import { failureForPeople } from '../../domain/tasks/agents/failure-advice.ts';
import { reportText } from '../../domain/tasks/report.ts';
import { isSessionAgent } from '../../domain/tasks/session-text.ts';
import { type Attempt, allOverText, oneOverText } from '../../domain/tasks/together.ts';
import type { Say } from '../../domain/texts/say.ts';
import { sayTo } from '../../store/chats/preferences.ts';
import { type Reached, type Refused, reachedBy, refusalsOf } from '../../store/kennel/egress.ts';
import { closeTaskQuestions } from '../../store/kennel/questions/task-questions.ts';
import { findShipment, namesOf } from '../../store/kennel/shipments/shipments.ts';
import { endTaskItems } from '../../store/kennel/tasks/task-log.ts';
import { taskOutboxId, tellOfTask } from '../../store/kennel/tasks/task-news.ts';
import { unheardWords } from '../../store/kennel/tasks/task-words.ts';
import { endTask, isOver, type Task, taskNumbers, waitingFor } from '../../store/kennel/tasks/tasks.ts';
import { kindOfRace, tasksTogether, tellsOfAll } from '../../store/kennel/tasks/together.ts';
import { type TaskUsage, usageOf } from '../../store/kennel/tasks/usage.ts';
import type { TaskResult } from '../../store/schema/tables/kennel.ts';
import { waitedForPeople } from '../../store/turns/questions/questions.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { isOwnWork } from './own-work.ts';
import { forgetRun, gateFolder } from './run/folder.ts';
import { requireStillHere, resultOf } from './task-result.ts';

type Ending = Pick<Concluded, 'state'> & { reason: string };

/**
 * Ends a task: containers, commit, changes by git, tests, report. Each part has a key and is done once, so a second
 * attempt continues where the first one died.
 */
export async function conclude(deps: KennelDeps, task: Task, ending: Ending): Promise<Concluded> {
  const { db, config } = deps;
  const before = isOver(task.state);
  const gone = removed(deps, task);
  await closeGate(deps, task);
  const ended = before ? task : await endedTask(deps, task, ending, gone);
  await gone;
  const result = ended.result!;
  const spent = await usageOf(db, task.id);
  const [reached, refused] = await Promise.all([reachedBy(db, task.id), refusalsOf(db, task.id)]);
  const number = (await taskNumbers(db, task.chat_id)).get(task.id)!;
  const waitedSeconds = Math.round((await waitedForPeople(db, { taskId: task.id })) / 1000);
  // nothing more can be said to it now; a person who stops a task needs no word of what it did not hear
  const unheard = ended.state === 'cancelled' ? [] : await unheardOf(db, task.id);
  const say = await sayTo(db, task.chat_id);
  const together = await textTogether(deps, ended, say);
  const shipment = ended.shipment_id === null ? undefined : await findShipment(db, ended.shipment_id);
  const pull = shipment && namesOf(shipment).name;
  const counted = { number, waitedSeconds, spent, reached, refused, unheard };
  const text = together ?? reportOf(ended, { ...counted, ...(pull && { pull }), reason: ending.reason }, say);
  const { own, ...notOwn } = result;
  // the words about others may be of somebody else
  const told = together === null && own ? result : notOwn;
  const outboxId = await tellOfTask(db, { ...task, result: told }, 'result', text, 'result');
  if (!before) logEnd(deps, ended, spent);
  // a person may go on with the session elsewhere
  if (task.session_id && isSessionAgent(ended.harness))
    await keepSession(runFolder(config, task.id), ended.harness, task.session_id).catch(() => {});
  // the host later removes what cannot be removed now
  await forgetRun(runFolder(config, task.id)).catch(() => {});
  return {
    state: ended.state as Concluded['state'],
    outboxId,
    filesChanged: filesChanged(result),
    waiting: await waitingFor(db, task),
  };
}

/** What the person said too late for the agent. */
const unheardOf = async (db: KennelDeps['db'], taskId: string): Promise<string[]> =>
  (await unheardWords(db, taskId)).flatMap(({ text, of_tests }) => (of_tests ? [] : [text]));

/** Removes the task's containers. The result is awaited later, and may have failed by then. */
function removed({ kennel }: KennelDeps, task: Task): Promise<unknown> {
  const gone = kennel.remove(task.id).catch((error) => {
    // a task whose agent never started must end even when no engine answers
    if (task.step > 0) throw error;
  });
  gone.catch(() => {});
  return gone;
}

async function closeGate({ config, gate }: KennelDeps, task: Task): Promise<void> {
  await gate.close(task.id);
  // sockets of a gate whose process was killed
  await rm(gateFolder(config, task.id), { recursive: true, force: true }).catch(() => {});
}

async function endedTask(
  deps: KennelDeps,
  task: Task,
  { state, reason: told }: Ending,
  gone: Promise<unknown>,
): Promise<Task> {
  const { db, config } = deps;
  const reason = state === 'failed' && isAgent(task.harness) ? failureForPeople(told, task.harness, config) : told;
  const found = await resultOf(deps, task, { state, reason, gone });
  await requireStillHere(deps, task);
  const result = (await isOwnWork(deps, task).catch(() => false)) ? { ...found, own: true as const } : found;
  await closeTaskQuestions(db, task.id);
  await endTaskItems(db, task);
  return await endTask(db, task.id, { state, reason, result, outboxId: taskOutboxId(task.id, 'result') });
}

const filesChanged = ({ changes }: TaskResult): number => changes?.filesChanged ?? changes?.files.length ?? 0;

const secondsOf = ({ ended_at, started_at, created_at }: Task): number =>
  Math.round(((ended_at ?? new Date()).getTime() - (started_at ?? created_at).getTime()) / 1000);

function reportOf(
  ended: Task,
  {
    reason,
    ...counted
  }: {
    number: number;
    pull?: string;
    waitedSeconds: number;
    reason: string;
    spent: TaskUsage;
    reached: Reached[];
    refused: Refused[];
    unheard: string[];
  },
  say: Say,
): string {
  const { goal, harness, workspace, worktree } = ended;
  const state = ended.state as Concluded['state'];
  const about = {
    goal,
    harness,
    workspace,
    worktree,
    state,
    reason: ended.reason ?? reason,
  };
  const planned = ended.plan !== null && !ended.planning;
  const report = { ...about, planned, seconds: secondsOf(ended), ...counted, result: ended.result! };
  return reportText(report, say);
}

/**
 * The message of a task that began together with others: one line, and at the end of the last one all side by side. Null
 * for any other task.
 */
async function textTogether({ db }: KennelDeps, ended: Task, say: Say): Promise<string | null> {
  const { race_id: raceId, workspace } = ended;
  const all = raceId === null ? [] : await tasksTogether(db, raceId);
  if (raceId === null || all.length < 2) return null;
  const kind = await kindOfRace(db, raceId);
  const attempts = await Promise.all(
    all.filter(({ state }) => isOver(state)).map(async (task) => ({ ...(await attemptOf(db, task)), id: task.id })),
  );
  if (attempts.length === all.length && (await tellsOfAll(db, raceId, ended.id)))
    return allOverText(kind, attempts, workspace, say);
  const at = all.findIndex(({ id }) => id === ended.id) + 1;
  const attempt = attempts.find(({ id }) => id === ended.id)!;
  return oneOverText(kind, { at, of: all.length, attempt, workspace }, say);
}

async function attemptOf(db: KennelDeps['db'], task: Task): Promise<Attempt> {
  const { goal, harness, reason } = task;
  const state = task.state as Attempt['state'];
  const spent = await usageOf(db, task.id);
  return { goal, harness, state, reason: reason ?? '', seconds: secondsOf(task), spent, result: task.result! };
}

function logEnd({ log }: KennelDeps, ended: Task, { calls, tokens, microUsd }: TaskUsage): void {
  const { id, thread_id, turn_id, harness, workspace } = ended;
  const figures = {
    files: filesChanged(ended.result!),
    calls,
    tokens,
    usd: microUsd / 1_000_000,
    seconds: secondsOf(ended),
  };
  log?.info({ task: id, thread: thread_id, turn: turn_id, harness, workspace, ...figures }, `task ${ended.state}`);
}
