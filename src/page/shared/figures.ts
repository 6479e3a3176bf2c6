import { DAY, HOUR, MINUTE } from '../../domain/time.ts';

/** Money, sizes and times as people read them. */

export const money = (usd: number): string => {
  if (usd === 0) return '$0';
  if (usd < 0.005) return '<$0.01';
  return usd < 100 ? `$${usd.toFixed(2)}` : `$${Math.round(usd).toLocaleString('en')}`;
};

export const tokens = (count: number): string => {
  if (count < 1_000) return String(count);
  return count < 999_500 ? `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k` : `${(count / 1_000_000).toFixed(1)}M`;
};

export const bytes = (count: number): string => {
  if (count < 1_000) return `${count} B`;
  return count < 1_000_000
    ? `${Math.round(count / 1_000)} kB`
    : count < 1e9
      ? `${(count / 1e6).toFixed(1)} MB`
      : `${(count / 1e9).toFixed(1)} GB`;
};

/** `12 s`, `3 min`, `2 h 5 min`, `4 d 3 h` */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** `just now`, `3 min ago`, `2 h ago`, `4 d ago`, `12 Mar`, `12 Mar 2025`. In the future: `in 3 min`. */
export function ago(at: number, now: number): string {
  const ms = now - at;
  const soon = ms < 0;
  const size = Math.abs(ms);
  const told = (text: string) => (soon ? `in ${text}` : `${text} ago`);
  if (size < 45_000) return soon ? 'now' : 'just now';
  if (size < HOUR) return told(`${Math.round(size / MINUTE)} min`);
  if (size < DAY) return told(`${Math.round(size / HOUR)} h`);
  if (size < 7 * DAY) return told(`${Math.round(size / DAY)} d`);
  const { day, month, year } = written(at);
  return year === written(now).year ? `${day} ${month}` : `${day} ${month} ${year}`;
}

/** `Tue 24 Nov, 08:30` */
export const moment = (at: number): string => {
  const { weekday, day, month, time } = written(at);
  return `${weekday} ${day} ${month}, ${time}`;
};

/** `08:30` */
export const clock = (at: number): string => written(at).time;

/** As the language itself writes a date. A formatter would be the longest piece of work of the first screen. */
function written(at: number) {
  const [weekday, month, day, year, time = ''] = String(new Date(at)).split(' ');
  return { weekday, day: Number(day), month, year, time: time.slice(0, 5) };
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
