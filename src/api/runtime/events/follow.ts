import pLimit from 'p-limit';
import { sseReaders } from '../../../telemetry/metrics.ts';
import type { StreamTimes } from '../../api-deps.ts';
import type { RuntimeDeps } from '../shared/endpoint.ts';

/** Reads of logs at the same time, of all streams. More would only compete, and delay all other requests. */
const READS = 4;
const reading = pLimit(READS);
/** Streams of this process that are open. */
let readers = 0;
const TIMES: StreamTimes = { keepaliveMs: 15_000, pollMs: 2_000 };

/** A part of a log, and whether more of it is there already. */
export interface Batch<Part> {
  part: Part;
  cursor: number;
  more: boolean;
}

/**
 * The stored log of a thread after `cursor`, batch by batch, then what is added to it, until `signal` aborts. Null: it
 * was silent so long that a proxy might close the stream. Both are the same read, so nothing is lost or doubled in
 * between: a notification only says "read again". The next batch is read when the last one was taken, so a slow reader
 * costs one batch.
 */
export async function* follow<Part>(
  deps: RuntimeDeps,
  at: { threadId: string; cursor: number; signal: AbortSignal },
  read: (cursor: number) => Promise<Batch<Part> | null>,
): AsyncGenerator<Part | null> {
  const times = { ...TIMES, ...deps.stream };
  const { signal } = at;
  const wakeup = deps.wakeups.subscribe(at.threadId);
  sseReaders.set({}, ++readers);
  let { cursor } = at;
  let spoke = Date.now();
  try {
    while (!signal.aborted) {
      wakeup.arm();
      const batch = await reading(() => patiently(deps, () => read(cursor)));
      if (batch) {
        cursor = batch.cursor;
        yield batch.part;
        spoke = Date.now();
        if (batch.more) continue;
      }
      const silentFor = Date.now() - spoke;
      if (silentFor >= times.keepaliveMs) {
        yield null;
        spoke = Date.now();
      }
      await wakeup.wait(Math.min(times.pollMs, Math.max(1, times.keepaliveMs - silentFor)), signal);
    }
  } finally {
    wakeup.close();
    sseReaders.set({}, --readers);
  }
}

/** A short outage of the database must not end streams: the log is still there afterwards. */
async function patiently<T>(deps: RuntimeDeps, read: () => Promise<T | null>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    deps.log?.warn({ err: error }, 'events could not be read; trying again');
    return null;
  }
}
