import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import pc from 'picocolors';
import type { Config } from '../../../config.ts';
import { withTypedCommands } from '../../../installation.ts';
import { jsonLine, type LogLine, parseLogLine, readableLine } from './log-line.ts';
import { type LogName, logFile, logsOf } from './role-log.ts';

export const LOG_NAMES: readonly LogName[] = [
  'fetch',
  'temporal',
  'postgres',
  'worker',
  'gateway',
  'api',
  'kennel',
  'roles',
];
const TAIL_BYTES = 256 * 1024;

/** Where a reader of a log is. */
export interface LogPlace {
  /** bytes; null: from the end of the file, as much of it as a person would read */
  offset: number | null;
  /** the time of the line before, for lines without one */
  at: number;
}

/**
 * Whole lines from a place on, at most `most` bytes of them, and the place behind them. A rotated log begins with its
 * new file.
 */
export function readLog(
  home: string,
  role: LogName,
  place: LogPlace,
  most = Number.POSITIVE_INFINITY,
): { lines: LogLine[]; place: LogPlace } {
  const file = logFile(home, role);
  if (!existsSync(file)) return { lines: [], place };
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const wanted = place.offset ?? Math.max(0, size - TAIL_BYTES);
    const from = size < wanted ? 0 : wanted;
    const buffer = Buffer.alloc(Math.min(size - from, most));
    const read = readSync(fd, buffer, 0, buffer.length, from);
    // a line that is longer than all that may be read is cut
    const end = buffer.lastIndexOf(10, read - 1) + 1 || (read >= most ? read : 0);
    let { at } = place;
    const lines = buffer
      .subarray(0, end)
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const parsed = parseLogLine(role, line, at);
        at = parsed.at;
        return parsed;
      });
    return { lines, place: { offset: from + end, at } };
  } finally {
    closeSync(fd);
  }
}

/**
 * Returns a reader that returns new whole lines of a role at each call; from the end of the file when `begin` is unset.
 */
export function tailOf(home: string, role: LogName, begin: number | null = null): () => LogLine[] {
  let place: LogPlace = { offset: begin, at: 0 };
  return () => {
    const read = readLog(home, role, place);
    place = read.place;
    return read.lines;
  };
}

/** Messages of Temporal's workers matter only when they are errors. */
export const isNoise = ({ fields, level }: LogLine): boolean =>
  fields.sdkComponent !== undefined && level !== 'error' && level !== 'fatal';

const POLL_MS = 250;

interface LogOptions {
  follow?: boolean;
  lines: number;
  /** for a program: complete and unformatted */
  json?: boolean;
}

/** `fetch logs`: the last lines of one role or of all, by time; with `follow`, also new ones, until Ctrl-C. */
export async function run(config: Config, role: LogName | undefined, options: LogOptions): Promise<void> {
  const { follow, lines, json } = options;
  const colors = pc.createColors(Boolean(process.stdout.isTTY) && pc.isColorSupported);
  const tails = (role ? logsOf(role) : LOG_NAMES).map((name) => tailOf(config.FETCH_HOME, name));
  /** New lines of all roles. Lines of one moment keep the order of their file. */
  const news = (): LogLine[] =>
    tails
      .flatMap((tail) => tail())
      .filter((line) => json || !isNoise(line))
      .sort((a, b) => a.at - b.at);
  const print = (line: LogLine) => process.stdout.write(`${json ? jsonLine(line) : readableLine(line, colors)}\n`);
  const begun = news();
  for (const line of begun.slice(-lines)) print(line);
  if (!follow && begun.length === 0)
    process.stdout.write(
      `No log lines yet in ${config.FETCH_HOME}/logs. ${withTypedCommands('Start Fetch: fetch start', ['start'])}\n`,
    );
  if (!follow) return;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (const line of news()) print(line);
    }, POLL_MS);
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => {
        clearInterval(timer);
        resolve();
      });
  });
}
