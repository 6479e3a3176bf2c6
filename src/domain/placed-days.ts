/**
 * Days that a schedule of five fields names by their place in the month: `L` as a date is the last day, `MON#2` as a
 * weekday the second Monday, `5L` or `FRI#L` the last Friday.
 */

export interface PlacedDays {
  /** the last day of the month */
  lastDate: boolean;
  /** the other dates of the field; empty when there are none */
  dates: string;
  weekdays: PlacedWeekday[];
  /** weekdays of every week, of the same field; empty when there are none */
  everyWeek: string;
}

interface PlacedWeekday {
  /** Sunday is 0 */
  day: number;
  /** from 1 to 5 */
  nth: number | 'last';
}

const NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const PLACED = /^(SUN|MON|TUE|WED|THU|FRI|SAT|[0-7])(?:#([1-5L])|L)$/;

/** Null when a schedule has no such days. In capitals, as `parseSchedule` returns it. */
export function placedDays(schedule: string): PlacedDays | null {
  const [, , date = '', , weekday = ''] = schedule.split(' ');
  const [dates, days] = [date.split(','), weekday.split(',')];
  const lastDate = dates.includes('L');
  const weekdays = days.flatMap((part): PlacedWeekday[] => {
    const [, day, nth] = PLACED.exec(part) ?? [];
    if (day === undefined) return [];
    const number = NAMES.includes(day) ? NAMES.indexOf(day) : Number(day) % 7;
    return [{ day: number, nth: nth === undefined || nth === 'L' ? 'last' : Number(nth) }];
  });
  if (!lastDate && weekdays.length === 0) return null;
  return {
    lastDate,
    dates: dates.filter((part) => part !== 'L').join(','),
    weekdays,
    everyWeek: days.filter((part) => !PLACED.test(part)).join(','),
  };
}
