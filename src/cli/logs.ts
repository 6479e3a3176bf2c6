import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Config } from '../config.ts';
import { logFile } from './role-log.ts';
import type { RoleName } from './state-file.ts';

export const ROLE_NAMES: readonly RoleName[] = ['temporal', 'postgres', 'worker', 'gateway', 'api', 'kennel'];
const POLL_MS = 250;
const TAIL_BYTES = 256 * 1024;

/** `fetch logs`: the last lines of one role or of all; with `follow`, what comes after them, until Ctrl-C. */
export async function run(config: Config, role: RoleName | undefined, options: { follow?: boolean; lines: number }): Promise<void> {
  const roles = role ? [role] : ROLE_NAMES;
  const tails = roles.map((name) => tailOf(logFile(config.FETCH_HOME, name), role ? '' : `${name.padEnd(8)} `));
  const shown = tails.map((tail) => tail(options.lines));
  if (!options.follow && shown.every((count) => count === 0)) process.stdout.write(`No log lines yet in ${config.FETCH_HOME}/logs. Start Fetch: fetch start\n`);
  if (!options.follow) return;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (const tail of tails) tail();
    }, POLL_MS);
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => {
        clearInterval(timer);
        resolve();
      });
  });
}

/** A reader that prints whole new lines each time it is called, at most `limit` of them, and returns how many. */
function tailOf(file: string, prefix: string): (limit?: number) => number {
  let offset: number | null = null;
  let rest = Buffer.alloc(0);
  return (limit = Number.POSITIVE_INFINITY) => {
    if (!existsSync(file)) return 0;
    const fd = openSync(file, 'r');
    try {
      const { size } = fstatSync(fd);
      if (offset === null) offset = Math.max(0, size - TAIL_BYTES);
      // it was rotated: begin with the new one
      if (size < offset) offset = 0;
      const buffer = Buffer.alloc(size - offset);
      readSync(fd, buffer, 0, buffer.length, offset);
      offset = size;
      const bytes = Buffer.concat([rest, buffer]);
      const end = bytes.lastIndexOf(10) + 1;
      rest = bytes.subarray(end);
      const lines = bytes.subarray(0, end).toString('utf8').split('\n').slice(0, -1).slice(-limit);
      for (const line of lines) process.stdout.write(`${prefix}${line}\n`);
      return lines.length;
    } finally {
      closeSync(fd);
    }
  };
}
