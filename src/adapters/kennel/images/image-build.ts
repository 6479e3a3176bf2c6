import { closeSync, openSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { Engine } from '../docker/engine.ts';
import { follow } from './image-base.ts';

const BEAT_MS = 5_000;
const STALE_MS = 30_000;

/**
 * Runs in one process of this machine at a time. The lock of a killed process is ignored after 30 s. Rarely, two
 * processes ignore it at once and both continue, which only costs a second build.
 */
export async function withLock<T>(
  name: string,
  onWait: () => void,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const file = join(tmpdir(), `${name}-${process.getuid?.() ?? 0}.lock`);
  for (let told = false; !take(file); ) {
    if (!told) onWait();
    told = true;
    await pause(500, undefined, { signal });
  }
  const beat = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // somebody deleted it by hand
    }
  }, BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const touched = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (touched !== undefined && Date.now() - touched > STALE_MS) rmSync(file, { force: true });
    return false;
  }
}

const LAST_LINES = 12;
const LINE_CHARS = 300;
/** Says nothing about a failure. */
const OF_THE_BUILDER = /^ *(---> |Removing intermediate container )/;

/** The engine repeats the whole command of the step, before it says how that ended. */
const endOf = (text: string): string => (text.length <= LINE_CHARS ? text : `…${text.slice(-LINE_CHARS)}`);

/** Builds an image from files. `tell` hears each step. Throws an error with the last lines of the build. */
export async function buildFrom(
  engine: Engine,
  context: Docker.ImageBuildContext,
  options: Docker.ImageBuildOptions,
  tell: (step: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const stream = await engine.patient.buildImage(context, { rm: true, forcerm: true, ...options, abortSignal: signal });
  const last: string[] = [];
  try {
    await follow<{ stream?: string }>(engine, stream, (event) => {
      for (const line of (event.stream ?? '').split('\n')) {
        if (!line.trim() || OF_THE_BUILDER.test(line)) continue;
        const step = /^Step (\d+)\/(\d+) : (.+)/.exec(line);
        // what earlier steps said is no reason for a failure of this one
        if (step) last.length = 0;
        last.push(line.trim().slice(0, LINE_CHARS));
        if (last.length > LAST_LINES) last.shift();
        if (step) tell(`step ${step[1]} of ${step[2]}, ${step[3]!.replace(/\s+/g, ' ').slice(0, 60)}`);
      }
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new Error(`${last.join('\n')}\n${endOf((error as Error).message)}`, { cause: error });
  }
}
