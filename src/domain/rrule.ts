import { intervalText, WEEKDAYS } from './firings.ts';
import { MINUTE } from './time.ts';

/**
 * The part of RFC 5545 that automations have: `FREQ=HOURLY` with INTERVAL and BYDAY, `FREQ=WEEKLY` with BYDAY, BYHOUR
 * and BYMINUTE. Clients know the refusals word for word, so no library reads them: it would take more, and refuse in
 * other words.
 */

/** `rrule`: as clients see it. `schedule`: what it means, in the grammar of crons. */
type ReadRrule = { ok: true; rrule: string; schedule: string } | { ok: false; error: string };

const ALLOWED: Record<string, readonly string[]> = {
  HOURLY: ['FREQ', 'INTERVAL', 'BYDAY'],
  WEEKLY: ['FREQ', 'BYDAY', 'BYHOUR', 'BYMINUTE'],
};
const DAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const HOUR_MINUTES = 60;
/** longer ones are no schedule any more: eleven years */
const MOST_HOURS = 99_999;

class Unreadable extends Error {}

/**
 * `at`: creation time. It sets the minute of an hourly rule, and the hour from which INTERVAL counts.
 */
export function readRrule(text: string, at: Date): ReadRrule {
  try {
    const rrule = text.trim().toUpperCase();
    const fields = fieldsOf(rrule);
    const frequency = fields.get('FREQ');
    if (frequency === undefined) throw new Unreadable('RRULE must include FREQ');
    const allowed = Object.hasOwn(ALLOWED, frequency) ? ALLOWED[frequency] : undefined;
    if (!allowed)
      throw new Unreadable(`Unsupported RRULE FREQ '${frequency.slice(0, 40)}'. Supported: HOURLY and WEEKLY`);
    for (const field of fields.keys()) {
      if (!allowed.includes(field))
        throw new Unreadable(
          `Unsupported RRULE field '${field.slice(0, 40)}' for ${frequency}. Allowed: ${allowed.join(',')}`,
        );
    }
    return { ok: true, rrule, schedule: frequency === 'HOURLY' ? hourly(fields, at) : weekly(fields) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { ok: false, error: error.message };
  }
}

type Fields = ReadonlyMap<string, string>;

/** Of a field that is there twice the last one counts. */
function fieldsOf(rrule: string): Fields {
  const fields = new Map<string, string>();
  for (const segment of rrule.split(';').map((part) => part.trim())) {
    if (!segment) continue;
    const [name = '', ...value] = segment.split('=');
    if (value.length === 0) throw new Unreadable(`Invalid RRULE segment '${segment.slice(0, 40)}'`);
    fields.set(name.trim(), value.join('=').trim());
  }
  return fields;
}

function hourly(fields: Fields, at: Date): string {
  const hours = numberOf(fields, 'INTERVAL') ?? 1;
  if (hours < 1) throw new Unreadable('INTERVAL must be >= 1');
  if (hours > MOST_HOURS) throw new Unreadable(`INTERVAL must be <= ${MOST_HOURS}`);
  const minute = Math.floor(at.getTime() / MINUTE);
  const days = daysOf(fields.get('BYDAY'));
  if (hours > 1) return intervalText({ hours, offset: minute % (hours * HOUR_MINUTES), days });
  return `${minute % HOUR_MINUTES} * * * ${days.map((day) => WEEKDAYS[day]).join(',') || '*'}`;
}

function weekly(fields: Fields): string {
  const days = fields.get('BYDAY');
  if (days === undefined) throw new Unreadable('WEEKLY schedules require BYDAY');
  const listed = daysOf(days).map((day) => WEEKDAYS[day]);
  // the hour is missed first
  const hour = within(fields, 'BYHOUR', 23);
  return `${within(fields, 'BYMINUTE', 59)} ${hour} * * ${listed.join(',')}`;
}

/** Each day once, in the order of the week. */
function daysOf(text: string | undefined): number[] {
  if (text === undefined) return [];
  const days = text.split(',').map((part) => {
    const day = DAYS.indexOf(part.trim());
    if (day < 0) throw new Unreadable(`Invalid BYDAY value '${part.trim().slice(0, 40)}'`);
    return day;
  });
  return [...new Set(days)].sort();
}

function within(fields: Fields, name: string, most: number): number {
  const value = numberOf(fields, name);
  if (value === undefined) throw new Unreadable(`WEEKLY schedules require ${name}`);
  if (value > most) throw new Unreadable(`${name} must be between 0 and ${most}`);
  return value;
}

function numberOf(fields: Fields, name: string): number | undefined {
  const text = fields.get(name);
  if (text === undefined) return undefined;
  if (!/^\+?\d{1,9}$/.test(text)) throw new Unreadable(`Failed to parse ${name}`);
  return Number(text);
}
