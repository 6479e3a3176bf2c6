import { parseSchedule } from '../../../domain/cron.ts';
import { intervalFrom } from '../../../domain/firings.ts';
import { DAY, MINUTE, SECOND, wallOf } from '../../../domain/time.ts';
import type { Task } from './nanoclaw-data.ts';

/**
 * What the schedule of a task becomes. NanoClaw looks for due tasks once a minute, and reads cron with seconds in front,
 * and with day of month OR weekday where both are given.
 */

/** Several schedules fire at different times, and together as the one did. `note`: what is different. */
type Converted = { schedules: string[]; note: string | null } | { why: string };

/** `zone`: of the clock that NanoClaw ran by */
export function scheduleOfTask(task: Task, zone: string, now: Date): Converted {
  if (task.status === 'completed') return { why: 'it is over' };
  if (task.type === 'cron') return cronOf(task.value, zone, now);
  if (task.type === 'interval') return intervalOf(task, now);
  if (task.type === 'once') return onceOf(task, zone, now);
  return { why: `"${task.type}" is no kind of schedule; it never ran there` };
}

/** Of cron-parser, which has more than are usual. */
const MACROS: Readonly<Record<string, string>> = {
  '@minutely': '* * * * *',
  '@secondly': '* * * * * *',
  '@weekdays': '0 0 * * 1-5',
  '@weekends': '0 0 * * 0,6',
};
const GREATEST = [59, 23, 31, 12, 7];

function cronOf(value: string, zone: string, now: Date): Converted {
  const text = value.trim();
  // an empty text is every minute there
  const fields = (MACROS[text.toLowerCase()] ?? (text || '* * * * *')).split(/\s+/);
  const seconds = fields.length === 6 ? fields.shift()! : '0';
  if (!/^[\d*,/-]+$/.test(seconds)) return { why: `"${seconds}" in front of "${text}" is no second` };
  const note = /^0+$/.test(seconds) ? null : 'without its seconds, at the full minute';
  const patterns = fields.length === 5 ? unionOf(fields.map(plainField)) : [fields.join(' ')];
  const schedules: string[] = [];
  for (const pattern of patterns) {
    const parsed = parseSchedule(pattern, zone, now);
    if (!parsed.ok) return { why: `"${text}" cannot be read: ${parsed.error}` };
    schedules.push(parsed.schedule);
  }
  const both = [
    'in two parts, because a date or a weekday was enough there',
    // the last day has no number, so the second part has it, too
    ...(fields[2]?.toUpperCase().split(',').includes('L') ? ['both may come on a last day'] : []),
  ].join('; ');
  return { schedules, note: [note, schedules.length > 1 && both].filter(Boolean).join('; ') || null };
}

/** `?` is `*`, and `5/15` begins at 5. */
const plainField = (field: string, at: number): string =>
  field === '?' ? '*' : field.replace(/(^|,)(\d+)\/(\d+)/g, `$1$2-${GREATEST[at]}/$3`);

const EVERY_WEEKDAY = /^(?:\*|\*\/1|0-6|0-7|1-7|SUN-SAT|MON-SUN)$/i;

/** Here a date and a weekday must both match. So the second part has the weekdays of all other dates. */
function unionOf(fields: readonly string[]): string[] {
  const [minute, hour, date = '*', month, weekday = '*'] = fields;
  const named = new Set(date.split(',').flatMap(datesOf));
  const others = Array.from({ length: 31 }, (_, index) => index + 1).filter((each) => !named.has(each));
  if (others.length === 0 || EVERY_WEEKDAY.test(weekday)) return [[minute, hour, date, month, weekday].join(' ')];
  return [`${minute} ${hour} ${date} ${month} *`, `${minute} ${hour} ${others.join()} ${month} ${weekday}`];
}

function datesOf(part: string): number[] {
  const [range = '', step = '1'] = part.split('/');
  const [first, last = first] = range === '*' ? ['1', '31'] : range.split('-');
  const dates: number[] = [];
  for (let date = Number(first); date <= Number(last); date += Math.max(1, Number(step) || 1)) dates.push(date);
  return dates;
}

function intervalOf({ value, nextRun }: Task, now: Date): Converted {
  const ms = Number.parseInt(value, 10);
  if (!(ms > 0)) return { why: `"${value}" is no number of milliseconds` };
  if (ms > 3_650 * DAY) return { why: `"${value}" milliseconds are more than ten years` };
  const every = Math.max(ms, MINUTE);
  const rounded = Math.round(every / SECOND) * SECOND;
  const notes = [
    ...(/^\s*\d+\s*$/.test(value) ? [] : [`"${value}" was read as ${ms} milliseconds there`]),
    ...(ms < MINUTE ? ['it ran once a minute there, too'] : []),
    ...(rounded === every ? [] : ['in whole seconds']),
  ];
  return { schedules: [intervalFrom(every, nextRun ?? now)], note: notes.join('; ') || null };
}

function onceOf({ value, nextRun }: Task, zone: string, now: Date): Converted {
  const at = nextRun ?? (/(?:Z|[+-]\d\d:?\d\d)$/i.test(value) ? new Date(value) : null);
  const wall = at && !Number.isNaN(at.getTime()) ? new Date(wallOf(at.getTime(), zone)).toJSON().slice(0, 19) : value;
  const parsed = parseSchedule(wall.trim(), zone, now);
  if (!parsed.ok) return { why: parsed.error };
  // five fields or milliseconds are no time
  return parsed.schedule.startsWith('@at ')
    ? { schedules: [parsed.schedule], note: null }
    : { why: `"${value}" is not a date and time` };
}
