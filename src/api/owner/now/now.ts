import { z } from 'zod';
import type {
  OwnerAction,
  OwnerChat,
  OwnerFailed,
  OwnerNow,
  OwnerRunning,
  OwnerWatched,
} from '../../../contracts/owner.ts';
import { doingInWords } from '../../../domain/chat/words/step-words.ts';
import { stateText } from '../../../domain/shipping/texts.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { namesOf, type Shipment, watchedShipments } from '../../../store/kennel/shipments/shipments.ts';
import { chatsOfIds, chatsOfThreads } from '../../../store/owner/views/chats.ts';
import {
  askingNow,
  countWaiting,
  type FailedRow,
  markSeen,
  type RunningRoutine,
  type RunningTask,
  type RunningTurn,
  runningRoutines,
  runningTasks,
  runningTurns,
  unseenFailures,
  waitingQuestion,
  waitingQuestions,
} from '../../../store/owner/views/now.ts';
import { ApiError } from '../../errors/errors.ts';
import { count, type Fields, time, usd } from '../../http/endpoint.ts';
import { isQuestionId } from '../../http/request.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
import { actionFields, chatFields, doing, lostChat, post, sayAgain, usdOf } from '../shared.ts';
import { ordersOf } from '../work/tasks.ts';
import { questionFields, questionView } from './question-view.ts';

const UNKNOWN: Record<OwnerFailed['kind'], string> = {
  turn: 'It ended without an answer.',
  task: 'It ended without a reason.',
  routine: 'A step failed.',
  message: 'The channel did not take it.',
};

const failedView = (row: FailedRow, chat: OwnerChat): OwnerFailed => ({
  kind: row.kind,
  id: row.id,
  chat,
  title: inline(row.title, 200),
  why: row.why ? inline(row.why, 1_000) : UNKNOWN[row.kind],
  at: row.at.toISOString(),
  actions: [...againOf(row), post('seen', `/v1/owner/failures/${row.id}/seen`)],
});

/**
 * "Try again" repeats the turn's text, starts a task with the same goal, or runs the schedule. A message that could not be
 * sent is in its chat all the same.
 */
function againOf({ kind, thread_id, said, workspace, cron_id }: FailedRow): OwnerAction[] {
  if (kind === 'routine' && cron_id !== null) return [post('again', `/v1/owner/schedules/${cron_id}/run`)];
  if (thread_id === null || said === null || said.trim() === '') return [];
  if (kind === 'turn') return [sayAgain(thread_id, said)];
  return kind === 'task' ? [sayAgain(thread_id, `Start this coding task in ${workspace} again: ${said}`)] : [];
}

const QUESTIONS_LISTED = 100;
/** Characters of the evidence of a listed question; one question by itself has all of it. */
const EVIDENCE_LISTED = 20_000;
const RUNNING_LISTED = 200;
const FAILED_LISTED = 20;

const running = z
  .object({
    kind: z.enum(['turn', 'task', 'routine']),
    id: z.string(),
    chat: chatFields,
    title: z.string(),
    state: z.enum(['queued', 'running', 'waiting', 'limited', 'paused']),
    doing: z.string().nullable(),
    since: time(),
    until: time().nullable().describe('When a limit is expected to open'),
    cost_usd: usd(),
    actions: z.array(actionFields),
  } satisfies Fields<OwnerRunning>)
  .meta({ id: 'OwnerRunning' });

const watched = z
  .object({
    id: z.string(),
    chat: chatFields,
    title: z.string(),
    url: z.string().nullable(),
    doing: z.string().describe('How far it is, and what it waits for'),
    since: time(),
  } satisfies Fields<OwnerWatched>)
  .meta({ id: 'OwnerWatched' });

const failed = z
  .object({
    kind: z.enum(['turn', 'task', 'routine', 'message']),
    id: z.string(),
    chat: chatFields,
    title: z.string(),
    why: z.string(),
    at: time(),
    actions: z.array(actionFields),
  } satisfies Fields<OwnerFailed>)
  .meta({ id: 'OwnerFailed' });

const now = z
  .object({
    at: time(),
    waiting: z.array(questionFields),
    running: z.array(running),
    watched: z.array(watched),
    failed: z.array(failed),
    waiting_count: count(),
  } satisfies Fields<OwnerNow>)
  .meta({ id: 'OwnerNow' });

export const getNow = endpoint({
  method: 'GET',
  path: '/v1/owner/now',
  summary: 'What waits for the owner, what runs, and what failed lately',
  answer: { schema: now, what: 'Of all chats. Questions come with the requests that answer them.' },
  handle: async (_, { store: { db } }) => {
    const at = new Date();
    const [questions, waiting_count, turns, tasks, routines, shipments, failures] = await Promise.all([
      waitingQuestions(db, QUESTIONS_LISTED),
      countWaiting(db),
      runningTurns(db, RUNNING_LISTED),
      runningTasks(db, RUNNING_LISTED),
      runningRoutines(db, RUNNING_LISTED),
      watchedShipments(db, RUNNING_LISTED),
      unseenFailures(db, FAILED_LISTED),
    ]);
    const [asking, threads, chats] = await Promise.all([
      askingNow(
        db,
        tasks.map(({ id }) => id),
      ),
      chatsOfThreads(
        db,
        [...questions, ...turns, ...tasks, ...failures].flatMap(({ thread_id }) => thread_id ?? []),
      ),
      chatsOfIds(db, [
        ...[...routines, ...shipments].map(({ chat_id }) => chat_id),
        ...failures.flatMap(({ thread_id, chat_id }) => (thread_id ? [] : (chat_id ?? []))),
      ]),
    ]);
    const chatOf = (threadId: string | null, chatId: string | null = null) =>
      (threadId ? threads.get(threadId) : chats.get(chatId ?? '')) ?? lostChat(threadId ?? chatId ?? '');
    const runs = [
      ...turns.map((turn) => turnView(turn, chatOf(turn.thread_id))),
      ...tasks.map((task) => taskView(task, chatOf(task.thread_id), asking.has(task.id))),
      ...routines.map((run) => routineView(run, chatOf(null, run.chat_id))),
    ];
    return {
      at: at.toISOString(),
      waiting: questions.map((row) => questionView(row, chatOf(row.thread_id), EVIDENCE_LISTED)),
      running: runs.sort((a, b) => (a.since < b.since ? 1 : -1)).slice(0, RUNNING_LISTED),
      watched: shipments.map((row) => watchedView(row, chatOf(null, row.chat_id))),
      failed: failures.map((row) => failedView(row, chatOf(row.thread_id, row.chat_id))),
      waiting_count,
    };
  },
});

export const getQuestion = endpoint({
  method: 'GET',
  path: '/v1/owner/questions/{id}',
  summary: 'An open question with all that a yes to it counts for',
  answer: { schema: questionFields, what: 'The question.' },
  refusals: { 404: 'No such question is open.' },
  handle: async ({ params: { id } }, { store: { db } }) => {
    const row = isQuestionId(id) ? await waitingQuestion(db, id) : undefined;
    if (!row) throw new ApiError(404, 'This question is not open: it was answered, has expired, or never was.');
    const chats = await chatsOfThreads(db, [row.thread_id]);
    return questionView(row, chats.get(row.thread_id) ?? lostChat(row.thread_id), Number.MAX_SAFE_INTEGER);
  },
});

export const postSeen = endpoint({
  method: 'POST',
  path: '/v1/owner/failures/{id}/seen',
  summary: 'Take a failure off the list, because the owner has seen it',
  answer: doing('What was done.'),
  refusals: { 404: 'No failure has an id of so many characters.' },
  handle: async ({ params: { id } }, { store: { db } }) => {
    if (id.length > 200) throw new ApiError(404, 'no failure has so long an id');
    await markSeen(db, [id]);
    return { message: 'It is marked as seen.' };
  },
});

const TITLE_CHARS = 200;

function turnView(turn: RunningTurn, chat: OwnerChat): OwnerRunning {
  const { wait, wait_until: until, asked, tools } = turn;
  return {
    kind: 'turn',
    id: turn.id,
    chat,
    title: inline(turn.input_summary, TITLE_CHARS),
    state: asked ? 'waiting' : wait ? 'limited' : 'running',
    doing: wait
      ? `waits for ${wait}`
      : asked
        ? 'waits for your answer'
        : tools.length > 0
          ? tools.map(doingInWords).join(', ')
          : null,
    since: turn.since.toISOString(),
    until: wait && until ? until.toISOString() : null,
    cost_usd: usdOf(turn.micro_usd),
    actions: [post('stop', `/v1/threads/${turn.thread_id}/turns/${turn.id}/interrupt`)],
  };
}

/** `asking`: a person has not answered its question yet. */
function taskView(task: RunningTask, chat: OwnerChat, asking: boolean): OwnerRunning {
  const limited = task.limited_until !== null && task.state === 'waiting';
  return {
    kind: 'task',
    id: task.id,
    chat,
    title: inline(task.goal, TITLE_CHARS),
    state: asking
      ? 'waiting'
      : limited
        ? 'limited'
        : task.state === 'queued' || task.state === 'waiting' || task.state === 'paused'
          ? task.state
          : 'running',
    doing: task.last === null ? null : inline(task.last, TITLE_CHARS),
    since: task.since.toISOString(),
    until: limited ? task.limited_until!.toISOString() : null,
    cost_usd: usdOf(task.micro_usd),
    actions: ordersOf(task),
  };
}

const routineView = (run: RunningRoutine, chat: OwnerChat): OwnerRunning => ({
  kind: 'routine',
  id: run.id,
  chat,
  title: inline(run.routine_name, TITLE_CHARS),
  state: run.queued ? 'queued' : 'running',
  doing: run.queued
    ? 'begins when this chat is free'
    : `${run.done} of ${run.steps} done${run.last ? `, last: ${inline(run.last, 80)}` : ''}`,
  since: run.started_at.toISOString(),
  until: null,
  cost_usd: 0,
  actions: [],
});

function watchedView(shipment: Shipment, chat: OwnerChat): OwnerWatched {
  const { name, url } = namesOf(shipment);
  return {
    id: shipment.id,
    chat,
    title: name,
    // its server says it, and a page opens it
    url: url && /^https?:/.test(url) ? url : null,
    doing: stateText(shipment),
    since: shipment.created_at.toISOString(),
  };
}
