import { z } from 'zod';
import type { OwnerChat, OwnerSchedule, OwnerSchedules, ScheduleAsked, ScheduleRun } from '../../../contracts/owner.ts';
import { scheduleInWords } from '../../../domain/chat/words/schedule-words.ts';
import { nextFirings } from '../../../domain/cron.ts';
import { inputsText } from '../../../domain/routine-inputs.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { storableText } from '../../../domain/text/storable.ts';
import { isServerAway } from '../../../gateway/intake/signal.ts';
import { chatsOfIds } from '../../../store/owner/views/chats.ts';
import { endReminder, listReminders, listSchedules, type ScheduleRow } from '../../../store/owner/views/schedules.ts';
import { ApiError, textRequired } from '../../errors/errors.ts';
import { type Fields, time } from '../../http/endpoint.ts';
import { isId, requestKey } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../../runtime/shared/endpoint.ts';
import { existingThread } from '../../runtime/threads/threads.ts';
import { actionFields, chatFields, doing, post } from '../shared.ts';

const MOST_LISTED = 500;
const RUNS_LISTED = 10;

const run = z.object({
  id: z.string(),
  scheduled_for: time().nullable(),
  started_at: time(),
  ended_at: time().nullable(),
  status: z.enum(['running', 'completed', 'failed']),
  summary: z.string().nullable(),
} satisfies Fields<ScheduleRun>);

const schedule = z
  .object({
    id: z.string(),
    kind: z.enum(['cron', 'reminder', 'automation']),
    chat: chatFields.nullable(),
    name: z.string(),
    what: z.string(),
    expression: z.string().nullable(),
    when: z.string().describe('The same in words; empty for a reminder'),
    time_zone: z.string(),
    enabled: z.boolean(),
    next: z.array(time()).describe('Up to five; empty when it is paused or does not fire again'),
    runs: z.array(run).describe('Up to ten, the latest first'),
    actions: z.array(actionFields),
  } satisfies Fields<OwnerSchedule>)
  .meta({ id: 'OwnerSchedule' });

export const getSchedules = endpoint({
  method: 'GET',
  path: '/v1/owner/schedules',
  summary: 'What fires by itself in all chats',
  answer: {
    schema: z.object({ schedules: z.array(schedule) } satisfies Fields<OwnerSchedules>).meta({ id: 'OwnerSchedules' }),
    what: 'By their next firing.',
  },
  handle: async (_, { store: { db }, config }) => {
    const [crons, reminders] = await Promise.all([
      listSchedules(db, { runs: RUNS_LISTED, limit: MOST_LISTED }),
      listReminders(db, MOST_LISTED),
    ]);
    const chats = await chatsOfIds(
      db,
      [...crons, ...reminders].map(({ chat_id }) => chat_id),
    );
    const now = new Date();
    const all = [
      ...crons.map((row) => scheduleView(row, chats.get(row.chat_id) ?? null, now)),
      ...reminders.map((row) => reminderView(row, chats.get(row.chat_id) ?? null, config)),
    ];
    // what does not fire comes last
    return { schedules: all.sort((a, b) => ((a.next[0] ?? '~') < (b.next[0] ?? '~') ? -1 : 1)) };
  },
});

const asked = z
  .object({
    thread_id: z.string(),
    kind: z.enum(['turn', 'steer', 'answer', 'stop', 'reply', 'task']),
    turn_id: z.string().nullable(),
  } satisfies Fields<ScheduleAsked>)
  .meta({ id: 'ScheduleAsked' });

export const postSchedule = endpoint({
  method: 'POST',
  path: '/v1/owner/schedules',
  summary: 'Ask for a schedule or a reminder, in words',
  body: z
    .object({
      text: z.string(),
      thread_id: z.string().optional().describe('Its results go there; the thread of the terminal when left out'),
    })
    .meta({ id: 'ScheduleRequest', examples: [{ text: 'every weekday at 8:30, tell me which day it is' }] }),
  answer: {
    status: 202,
    schema: asked,
    what: 'The words are said in that chat, so its tool runs with its rules of consent.',
  },
  refusals: { 404: 'There is no such thread.' },
  handle: async ({ ctx, body }, deps) => {
    const text = storableText(body.text).trim();
    if (!text) throw textRequired('text');
    const { id } =
      body.thread_id === undefined ? await deps.intake.consoleThread() : await existingThread(body.thread_id, deps);
    const said = await deps.intake.say({ threadId: id, text, channelMessageId: requestKey(ctx, 'schedule', body) });
    return { thread_id: id, kind: said.kind, turn_id: said.turnId };
  },
});

const refusals = { 404: 'There is no such schedule.', 503: 'The Temporal server does not answer.' };

export const runSchedule = endpoint({
  method: 'POST',
  path: '/v1/owner/schedules/{id}/run',
  summary: 'Run a schedule now',
  answer: doing('It runs.'),
  refusals: { ...refusals, 409: 'It runs already.' },
  handle: async ({ ctx, params: { id } }, deps) => {
    await onSchedule(id, deps, () => deps.intake.schedules.run(id, requestKey(ctx, `run ${id}`, null)));
    return { message: 'It runs. Its result comes to its chat.' };
  },
});

const switching = (enabled: boolean) =>
  endpoint({
    method: 'POST',
    path: `/v1/owner/schedules/{id}/${enabled ? 'resume' : 'pause'}`,
    summary: enabled ? 'Let a schedule fire again' : 'Pause a schedule',
    answer: doing('It is done.'),
    refusals,
    handle: async ({ params: { id } }, deps) => {
      await onSchedule(id, deps, () => deps.intake.schedules.setEnabled(id, enabled));
      return { message: enabled ? 'It fires again. What it missed is not caught up.' : 'It is paused.' };
    },
  });
export const pauseSchedule = switching(false);
export const resumeSchedule = switching(true);

export const deleteScheduleOrReminder = endpoint({
  method: 'DELETE',
  path: '/v1/owner/schedules/{id}',
  summary: 'End a schedule or a reminder',
  answer: doing('It is gone.'),
  refusals,
  handle: async ({ params: { id } }, deps) => {
    await onSchedule(id, deps, async () => {
      if (!(await endReminder(deps.store.db, id))) await deps.intake.schedules.remove(id);
    });
    return { message: 'It is removed. A run that has begun goes on.' };
  },
});

/** @throws ApiError 404, 503 */
async function onSchedule(id: string, { log }: RuntimeDeps, act: () => Promise<unknown>): Promise<void> {
  if (!isId(id)) throw new ApiError(404, 'There is no such schedule.');
  try {
    await act();
  } catch (error) {
    if (!isServerAway(error)) throw error;
    log?.warn({ err: error }, 'the Temporal server does not answer');
    throw new ApiError(503, 'The Temporal server does not answer, so nothing was changed. Try again.');
  }
}

const NEXT = 5;
const SUMMARY_CHARS = 2_000;

function scheduleView(row: ScheduleRow, chat: OwnerChat | null, now: Date): OwnerSchedule {
  const { id, name, enabled, schedule, rrule, time_zone } = row;
  const gives = inputsText(row.inputs);
  return {
    id,
    kind: rrule === null ? 'cron' : 'automation',
    chat,
    name,
    what: gives ? `${row.routine} with ${gives}` : row.routine,
    expression: rrule ?? schedule,
    when: scheduleInWords(schedule),
    time_zone,
    enabled,
    next: enabled ? nextFirings(schedule, time_zone, now, NEXT).map((at) => at.toISOString()) : [],
    runs: row.runs.map((run) => ({
      ...run,
      summary: run.summary === null ? null : inline(run.summary, SUMMARY_CHARS),
    })),
    actions: [
      post('run', `/v1/owner/schedules/${id}/run`),
      enabled ? post('pause', `/v1/owner/schedules/${id}/pause`) : post('resume', `/v1/owner/schedules/${id}/resume`),
      { name: 'remove', method: 'DELETE', path: `/v1/owner/schedules/${id}`, body: null },
    ],
  };
}

const reminderView = (
  { id, what, due_at }: { id: string; what: string; due_at: Date },
  chat: OwnerChat | null,
  { FETCH_TIME_ZONE }: { FETCH_TIME_ZONE: string },
): OwnerSchedule => ({
  id,
  kind: 'reminder',
  chat,
  name: inline(what, 80),
  what,
  expression: null,
  when: '',
  time_zone: FETCH_TIME_ZONE,
  enabled: true,
  next: [due_at.toISOString()],
  runs: [],
  actions: [{ name: 'remove', method: 'DELETE', path: `/v1/owner/schedules/${id}`, body: null }],
});
