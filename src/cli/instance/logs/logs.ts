import pc from 'picocolors';
import type { Config } from '../../../config.ts';
import { jsonLine, type LogLine, readableLine } from './log-line.ts';
import { isNoise, LOG_NAMES, tailOf } from './log-tail.ts';
import { type LogName, logsOf } from './role-log.ts';

const POLL_MS = 250;

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
  if (!follow && begun.length === 0)
    process.stdout.write(`No log lines yet in ${config.FETCH_HOME}/logs. Start Fetch: fetch start\n`);
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
