import type { ItemRecord } from '../../../contracts/records.ts';
import { DAY } from '../../../domain/time.ts';
import { plain } from '../screen/text.ts';

/** An earlier message that is shown again. `at`: ms since the epoch. */
export interface PastMessage {
  by: 'person' | 'agent' | 'note' | 'error';
  text: string;
  at: number;
}

/** Equal messages, counted: a schedule says the same every hour. */
interface CollapsedMessage extends PastMessage {
  times: number;
  last: number;
}

const kinds: Partial<Record<ItemRecord['kind'], PastMessage['by']>> = {
  user_message: 'person',
  agent_message: 'agent',
  status: 'note',
  error: 'error',
};

export function saidIn(items: readonly ItemRecord[]): PastMessage[] {
  return items.flatMap((item) => {
    const by = kinds[item.kind];
    const at = Date.parse(item.ended_at ?? item.started_at ?? '');
    return by && item.status === 'completed'
      ? [{ by, text: plain(item.detail ?? item.summary).trim(), at: Number.isNaN(at) ? 0 : at }]
      : [];
  });
}

/** Each text once, where it first came. */
export function collapsed(said: readonly PastMessage[]): CollapsedMessage[] {
  const told = new Map<string, CollapsedMessage>();
  for (const one of said) {
    const key = `${one.by} ${one.text}`;
    const known = told.get(key);
    if (known) Object.assign(known, { times: known.times + 1, last: one.at });
    else told.set(key, { ...one, times: 1, last: one.at });
  }
  return [...told.values()];
}

/** `yesterday 23:10 (5 times, last 07:00)` */
export const whenTold = ({ at, times, last }: CollapsedMessage, now: number): string =>
  clock(at, now) + (times > 1 ? ` (${times} times, last ${clock(last, now)})` : '');

const WEEK_DAYS = 6;

/** A time for people: `07:00`, `yesterday 23:10`, `Mon 09:05`, `3 Nov 09:05`, in the time zone of this machine. */
export function clock(at: number, now: number): string {
  const date = new Date(at);
  const time = `${String(date.getHours()).padStart(2, '0')}:${String(date.getMinutes()).padStart(2, '0')}`;
  const days = Math.round((midnight(now) - midnight(at)) / DAY);
  if (days <= 0) return time;
  if (days === 1) return `yesterday ${time}`;
  if (days <= WEEK_DAYS) return `${date.toLocaleString('en', { weekday: 'short' })} ${time}`;
  const month = date.toLocaleString('en', { month: 'short' });
  const year = date.getFullYear() === new Date(now).getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${month}${year} ${time}`;
}

const midnight = (at: number): number => new Date(at).setHours(0, 0, 0, 0);
