import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import pc from 'picocolors';
import type { Config } from '../../config.ts';
import { jsonLine, type LogLine, parseLogLine, readableLine } from '../instance/log-line.ts';
import { type LogName, logFile, logsOf } from '../instance/role-log.ts';

export const LOG_NAMES: readonly LogName[] = ['fetch', 'temporal', 'postgres', 'worker', 'gateway', 'api', 'kennel', 'roles'];
const POLL_MS = 250;
const TAIL_BYTES = 256 * 1024;

export interface LogOptions {
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
  if (!follow && begun.length === 0) process.stdout.write(`No log lines yet in ${config.FETCH_HOME}/logs. Start Fetch: fetch start\n`);
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

/** Messages of Temporal's workers matter only when they are errors. */
const isNoise = ({ fields, level }: LogLine): boolean => fields.sdkComponent !== undefined && level !== 'error' && level !== 'fatal';

/** Returns a reader that returns new whole lines of a role at each call; from the end of the file when `begin` is unset. */
export function tailOf(home: string, role: LogName, begin: number | null = null): () => LogLine[] {
  const file = logFile(home, role);
  let offset = begin;
  let rest = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (!existsSync(file)) return [];
    const fd = openSync(file, 'r');
    try {
      const { size } = fstatSync(fd);
      if (offset === null) offset = Math.max(0, size - TAIL_BYTES);
      // the log was rotated, so begin with the new file
      if (size < offset) offset = 0;
      const buffer = Buffer.alloc(size - offset);
      readSync(fd, buffer, 0, buffer.length, offset);
      offset = size;
      const bytes = Buffer.concat([rest, buffer]);
      const end = bytes.lastIndexOf(10) + 1;
      rest = bytes.subarray(end);
      const lines = bytes.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
      return lines
        .filter((line) => line.trim() !== '')
        .map((line) => {
          const parsed = parseLogLine(role, line, at);
          at = parsed.at;
          return parsed;
        });
    } finally {
      closeSync(fd);
    }
  };
}
