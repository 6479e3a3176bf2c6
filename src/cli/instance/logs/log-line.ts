import type { Colors } from 'picocolors/types.js';

/** A line of a role's log, whatever program wrote it. */
export interface LogLine {
  role: string;
  /** ms since 1970; of a line without a time of its own, that of the line before it */
  at: number;
  level: string;
  text: string;
  /** what stood beside the text: ids, reasons */
  fields: Record<string, unknown>;
  /** as it was written */
  raw: string;
}

/** Fields that say what the line says by itself, or what its role says. */
const SHOWN = new Set([
  'time',
  'ts',
  'level',
  'msg',
  'message',
  'role',
  'name',
  'pid',
  'hostname',
  'logging-call-at',
  'v',
]);
const PINO_LEVELS: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

/** @param before the time of the line before it */
export function parseLogLine(role: string, raw: string, before: number): LogLine {
  const plain = { role, raw, fields: {} };
  if (raw.startsWith('{')) {
    try {
      const entry = JSON.parse(raw) as Record<string, unknown>;
      const level =
        typeof entry.level === 'number' ? (PINO_LEVELS[entry.level] ?? 'info') : String(entry.level ?? 'info');
      const fields = Object.fromEntries(
        Object.entries(entry).filter(([key, value]) => !SHOWN.has(key) && value !== undefined && value !== ''),
      );
      return {
        role,
        raw,
        at: timeOf(entry.time ?? entry.ts) ?? before,
        level,
        text: String(entry.msg ?? entry.message ?? ''),
        fields,
      };
    } catch {
      // a line that was torn by a kill
    }
  }
  // PostgreSQL: `2026-11-22 09:16:43.411 UTC [1234] LOG:  text`
  const found = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) UTC \[\d+\] ?([A-Z]+): +(?! )(.*)$/.exec(raw);
  if (found)
    return {
      ...plain,
      at: timeOf(`${found[1]!.replace(' ', 'T')}Z`) ?? before,
      level: found[2]!.toLowerCase(),
      text: found[3]!,
    };
  return { ...plain, at: before, level: '', text: raw };
}

function timeOf(value: unknown): number | null {
  const at = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(at) ? at : null;
}

const LOUD = new Set(['warn', 'warning']);
const LOUDER = new Set(['error', 'fatal', 'panic']);

/** One line for a person: the time of day, the role, what happened, and what stood beside it. */
export function readableLine({ role, at, level, text, fields }: LogLine, colors: Colors): string {
  const time = colors.dim(at > 0 ? new Date(at).toISOString().slice(11, 23) : ' '.repeat(12));
  const mark = LOUDER.has(level) ? colors.red('✗ ') : LOUD.has(level) ? colors.yellow('! ') : '';
  const beside = besideText(fields);
  return `${time} ${role.padEnd(8)} ${mark}${text}${beside ? colors.dim(`  ${beside}`) : ''}`;
}

/** What stood beside a line, as `name=value`. */
export const besideText = (fields: LogLine['fields']): string =>
  Object.entries(fields)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');

/** One line for a program: JSON, with its role and its time. */
export const jsonLine = ({ role, at, level, text, fields }: LogLine): string =>
  JSON.stringify({ time: at > 0 ? new Date(at).toISOString() : null, role, level, msg: text, ...fields });
