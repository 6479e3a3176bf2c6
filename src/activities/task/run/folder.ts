import { constants, type FSWatcher, watch } from 'node:fs';
import { appendFile, chmod, type FileHandle, lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runFolder } from '../../../adapters/kennel/run-folders.ts';
import { KEPT_SESSION } from '../../../adapters/sessions/places.ts';
import type { Config } from '../../../config.ts';
import type { Command, LogLine } from '../../../contracts/kennel.ts';
import { DAY } from '../../../domain/time.ts';
import { parseLine } from './log-line.ts';

export const gateFolder = (config: Config, taskId: string): string => join(runFolder(config, taskId), 'gate');

/** Largest part of a log in one read, so that a flood is stored in parts. */
const CHUNK = 256 * 1024;

export interface Read {
  lines: LogLine[];
  /** where each line ends */
  ends: number[];
  /** where the next read begins: after the last whole line */
  offset: number;
  /** more is already there */
  more: boolean;
  /** length of the log in bytes */
  size: number;
}

/** Whole lines of a log from a byte on. An unfinished line does not count; a line that is no log line is skipped. */
export async function readLog(folder: string, offset: number): Promise<Read> {
  const file = await openLog(folder);
  const nothing = { lines: [], ends: [], offset, more: false };
  if (!file) return { ...nothing, size: 0 };
  try {
    const { size } = await file.stat();
    if (size <= offset) return { ...nothing, size };
    const buffer = Buffer.alloc(Math.min(CHUNK, size - offset));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    const end = buffer.lastIndexOf(10, bytesRead - 1) + 1;
    // no line of the runner is that long, and this one must not block the log for ever
    if (end === 0)
      return { ...nothing, offset: bytesRead === CHUNK ? offset + bytesRead : offset, more: bytesRead === CHUNK, size };
    const lines: LogLine[] = [];
    const ends: number[] = [];
    for (let at = 0; at < end; ) {
      const next = buffer.indexOf(10, at) + 1;
      const line = parseLine(buffer.toString('utf8', at, next - 1));
      if (line) {
        lines.push(line);
        ends.push(offset + next);
      }
      at = next;
    }
    return { lines, ends, offset: offset + end, more: offset + end < size, size };
  } finally {
    await file.close();
  }
}

/**
 * Null before the log exists. The container can change everything in this folder, so a link or a pipe in place of the
 * log is not followed.
 */
async function openLog(folder: string, access: number = constants.O_RDONLY): Promise<FileHandle | null> {
  const file = await open(join(folder, 'log.ndjson'), access | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ELOOP') return null;
      throw error;
    },
  );
  if (!file || (await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

/** When a log last grew, in ms since the epoch; null before it exists. */
export const lastWritten = async (folder: string): Promise<number | null> =>
  await lstat(join(folder, 'log.ndjson')).then(
    (file) => file.mtimeMs,
    () => null,
  );

/** Shortest time between two reads of a busy log, in ms: each is a transaction. */
const AT_MOST_MS = 50;

interface LogWatch {
  /**
   * Waits until the log has grown, or for `ms`, because file notifications do not cross every mount. Throws the reason
   * of the signal.
   */
  grown(ms: number): Promise<void>;
  close(): void;
}

export function watchLog(folder: string, signal: AbortSignal): LogWatch {
  let grew = false;
  let wake = () => {};
  let lookedAt = 0;
  let watcher: FSWatcher | undefined;
  const aborted = () => wake();
  signal.addEventListener('abort', aborted, { once: true });
  try {
    watcher = watch(join(folder, 'log.ndjson'), () => {
      grew = true;
      wake();
    });
    watcher.on('error', () => watcher?.close());
  } catch {
    // it does not exist, or the system has no more watches: a look every `ms` is enough
  }
  return {
    grown: async (ms) => {
      signal.throwIfAborted();
      if (!grew) {
        const waiting = Promise.withResolvers<void>();
        wake = waiting.resolve;
        const timer = setTimeout(wake, ms);
        await waiting.promise;
        clearTimeout(timer);
      }
      signal.throwIfAborted();
      const early = lookedAt + AT_MOST_MS - Date.now();
      if (early > 0) await pause(early);
      grew = false;
      lookedAt = Date.now();
    },
    close: () => {
      signal.removeEventListener('abort', aborted);
      watcher?.close();
    },
  };
}

/** Appends a command. A command that was appended before has the same id and counts once. */
export async function sendCommand(folder: string, command: Command): Promise<void> {
  await mkdir(folder, { recursive: true });
  await appendFile(join(folder, 'commands.ndjson'), `${JSON.stringify(command)}\n`, { mode: 0o644 });
}

/** The files of a run that stay as its record. */
const RECORD = new Set(['spec.json', 'commands.ndjson', 'log.ndjson', KEPT_SESSION]);
/** The lines are in the store, so only the beginning of the file is kept. */
const KEPT_LOG_BYTES = 1024 * 1024;
const KEPT_DAYS = 30;

/**
 * Removes everything of a task's run folder except its record: the sockets and the agent's HOME with its
 * log-in, also when the agent moved it to another name. The containers must be gone. Throws when something is left.
 */
export async function forgetRun(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names) if (!RECORD.has(name)) await removeWhole(join(folder, name));
  await shortenLog(folder);
}

async function shortenLog(folder: string): Promise<void> {
  const file = await openLog(folder, constants.O_RDWR);
  if (!file) return;
  try {
    if ((await file.stat()).size > KEPT_LOG_BYTES) await file.truncate(KEPT_LOG_BYTES);
  } finally {
    await file.close();
  }
}

/**
 * Removes the records of runs that ended long ago. `live`: tasks that are not over, which may have waited for a person
 * all that time.
 */
export async function dropOldRuns(runs: string, live: ReadonlySet<string>, now = Date.now()): Promise<void> {
  for (const id of await readdir(runs).catch(() => [])) {
    const changed = await lstat(join(runs, id, 'commands.ndjson')).catch(() => null);
    if (!live.has(id) && changed && now - changed.mtimeMs > KEPT_DAYS * DAY) await removeWhole(join(runs, id));
  }
}

async function removeWhole(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    // the agent may have left a folder that its owner cannot read or write
    await makeWritable(path).catch(() => {});
    await rm(path, { recursive: true, force: true });
  }
}

/** Does not follow links. */
async function makeWritable(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) return;
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(join(path, entry.name));
}
