import { homedir, hostname, userInfo } from 'node:os';

/** A history as Temporal writes it in JSON: `{ events: [...] }`. */
export interface HistoryJson {
  events: HistoryEvent[];
}
export type HistoryEvent = { eventId: string; eventType: string } & Record<string, unknown>;

/**
 * Takes out what names the machine that recorded it: identities, names of sticky queues (they contain one), stack
 * traces. None of these takes part in a replay.
 */
export function scrub(history: HistoryJson): HistoryJson {
  return JSON.parse(JSON.stringify(history), (key, value) => {
    if (key === 'identity' && typeof value === 'string') return 'recorder';
    if (key === 'stackTrace') return '';
    if (typeof value === 'string' && /^\d+@/.test(value)) return 'recorder';
    return value;
  });
}

/**
 * What a committed history must not hold: paths, host and user names, process identities, ports of loopback; also
 * inside payloads.
 */
export function privateParts(history: HistoryJson): string[] {
  const found: string[] = [];
  // a name of three letters would be found by accident inside ids
  const names = [hostname(), userInfo().username].filter((name) => name.length > 3);
  const patterns = [
    /\d+@[\w.-]+/,
    /file:\/\//,
    /(?:^|[^\w.])\/(?:home|root|Users|tmp|var|work|usr|opt)\//,
    /node_modules/,
    /127\.0\.0\.1|localhost/,
    /Bearer /,
  ];
  const look = (where: string, text: string) => {
    const name = [...names, homedir()].find((each) => each.length > 3 && text.includes(each));
    const pattern = patterns.find((each) => each.test(text));
    if (name || pattern) found.push(`${where}: ${name ?? pattern}`);
  };
  const walk = (where: string, value: unknown): void => {
    if (typeof value === 'string') {
      look(where, value);
      if (where.endsWith('.data')) look(`${where} (decoded)`, Buffer.from(value, 'base64').toString('utf8'));
    } else if (value && typeof value === 'object')
      for (const [key, inner] of Object.entries(value)) walk(`${where}.${key}`, inner);
  };
  for (const event of history.events) walk(`event ${event.eventId}`, event);
  return found;
}
