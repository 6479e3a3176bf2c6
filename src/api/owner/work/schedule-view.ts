import type { OwnerChat, OwnerSchedule } from '../../../contracts/owner.ts';
import { nextFirings } from '../../../domain/cron.ts';
import { inputsText } from '../../../domain/routine-inputs.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { ScheduleRow } from '../../../store/owner/views/schedules.ts';
import { post } from '../shared.ts';

const NEXT = 5;
const SUMMARY_CHARS = 2_000;

export function scheduleView(row: ScheduleRow, chat: OwnerChat | null, now: Date): OwnerSchedule {
  const { id, name, enabled, schedule, rrule, time_zone } = row;
  const gives = inputsText(row.inputs);
  return {
    id,
    kind: rrule === null ? 'cron' : 'automation',
    chat,
    name,
    what: gives ? `${row.routine} with ${gives}` : row.routine,
    expression: rrule ?? schedule,
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

export const reminderView = (
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
  time_zone: FETCH_TIME_ZONE,
  enabled: true,
  next: [due_at.toISOString()],
  runs: [],
  actions: [{ name: 'remove', method: 'DELETE', path: `/v1/owner/schedules/${id}`, body: null }],
});
