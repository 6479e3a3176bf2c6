import { constants, type FSWatcher, watch } from 'node:fs';
import { appendFile, chmod, type FileHandle, lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import type { Command, LogLine } from '../../contracts/kennel.ts';

export const runsFolder = (config: Config): string => join(config.FETCH_HOME, 'kennel', 'runs');
/** A run's folder on this host; what is in it is said in `contracts/kennel.ts`. */
export const runFolder = (config: Config, taskId: string): string => join(runsFolder(config), taskId);
export const gateFolder = (config: Config, taskId: string): string => join(runFolder(config, taskId), 'gate');

/** Read at most this much of a log at a time, so that a flood is stored in pieces. */
const CHUNK = 256 * 1024;

export interface Read {
  lines: LogLine[];
  /** where the next read goes on: after the last whole line */
  offset: number;
  /** more is there already */
  more: boolean;
}

/** Whole lines of a log from a byte on. A line that is still being written, or that is no line of a log, does not count; the latter is passed over. */
export async function readLog(folder: string, offset: number): Promise<Read> {
  const file = await openLog(folder);
  if (!file) return { lines: [], offset, more: false };
  try {
    const { size } = await file.stat();
    if (size <= offset) return { lines: [], offset, more: false };
    const buffer = Buffer.alloc(Math.min(CHUNK, size - offset));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    const end = buffer.lastIndexOf(10, bytesRead - 1) + 1;
    // no line of the runner is that long: whatever this is, it must not hold the log up for ever
    if (end === 0) return { lines: [], offset: bytesRead === CHUNK ? offset + bytesRead : offset, more: bytesRead === CHUNK };
    const lines = buffer
      .subarray(0, end)
      .toString('utf8')
      .split('\n')
      .flatMap((line) => parseLine(line) ?? []);
    return { lines, offset: offset + end, more: offset + end < size };
  } finally {
    await file.close();
  }
}

/** Null before it is there. What is inside the folder is the container's to change: a link or a pipe in the place of the log is not followed. */
async function openLog(folder: string): Promise<FileHandle | null> {
  const file = await open(join(folder, 'log.ndjson'), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ELOOP') return null;
      throw error;
    },
  );
  if (!file || (await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

/** Bytes that lines take in the log up to and including the line `seq`: where to go on after it. */
export async function offsetAfter(folder: string, from: number, seq: number): Promise<number> {
  const file = await openLog(folder);
  if (!file) return from;
  const text = await file.readFile().finally(() => file.close());
  let at = from;
  while (at < text.length) {
    const end = text.indexOf(10, at);
    if (end < 0) return at;
    const line = parseLine(text.subarray(at, end).toString('utf8'));
    at = end + 1;
    if (line && line.seq >= seq) return at;
  }
  return at;
}

function parseLine(text: string): LogLine | null {
  if (text === '') return null;
  try {
    const line = JSON.parse(text) as LogLine;
    return Number.isInteger(line?.seq) && Number.isInteger(line.step) && typeof line.type === 'string' && !Number.isNaN(Date.parse(line.at)) ? line : null;
  } catch {
    return null;
  }
}

/** When a log last grew, in ms since the epoch; null before it is there. */
export const lastWritten = async (folder: string): Promise<number | null> =>
  await lstat(join(folder, 'log.ndjson')).then(
    (file) => file.mtimeMs,
    () => null,
  );

/** A chatty agent is read this often at most, in ms: each time is a transaction. */
const AT_MOST_MS = 50;

export interface LogWatch {
  /** Waits until the log has grown, or for `ms`: notifications of the file system do not cross every mount. Throws the reason of the signal. */
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
    // it is not there, or nothing more can be watched: looking at it every `ms` is enough
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

/** Appends a command; one that was appended before has the same id and counts once. */
export async function sendCommand(folder: string, command: Command): Promise<void> {
  await mkdir(folder, { recursive: true });
  await appendFile(join(folder, 'commands.ndjson'), `${JSON.stringify(command)}\n`, { mode: 0o644 });
}

/** What stays of a run as its record. */
const RECORD = new Set(['spec.json', 'commands.ndjson', 'log.ndjson']);

/**
 * Removes everything of a run but its record: the agent's HOME with its session and a log-in that it was given, under whatever name an agent has moved it
 * to, and the sockets. Its containers must be gone. Throws when something is left.
 */
export async function forgetRun(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names) if (!RECORD.has(name)) await removeWhole(join(folder, name));
}

async function removeWhole(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    // a folder that its owner may not read or write any more
    await makeWritable(path).catch(() => {});
    await rm(path, { recursive: true, force: true });
  }
}

/** Links are not followed. */
async function makeWritable(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) return;
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true })) if (entry.isDirectory()) await makeWritable(join(path, entry.name));
}
