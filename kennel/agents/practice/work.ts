import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Session } from './session.ts';

const MAX_OUTPUT = 16_000;

/**
 * Appends once. The length of the file before is stored first, so it shows what a killed process has written already.
 */
export function appendOnce(cwd: string, file: string, text: string, session: Session, save: () => void): void {
  const path = join(cwd, file);
  mkdirSync(dirname(path), { recursive: true });
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const before = session.begun?.size;
  if (before !== undefined && size > before) {
    const there = readFileSync(path).subarray(before).toString();
    if (there.startsWith(text)) return;
    // a part was written
    if (text.startsWith(there)) truncateSync(path, before);
  } else {
    session.begun = { size };
    save();
  }
  appendFileSync(path, text);
}

export function writeWhole(cwd: string, file: string, text: string): void {
  const path = join(cwd, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Waits in intervals of a second and stores each. False when it was cancelled. */
export async function waitSeconds(
  seconds: number,
  session: Session,
  save: () => void,
  onSecond: (elapsed: number) => void,
  signal: AbortSignal,
): Promise<boolean> {
  let elapsed = session.begun?.elapsed ?? 0;
  while (elapsed < seconds) {
    const length = Math.min(1, seconds - elapsed);
    try {
      await pause(length * 1000, undefined, { signal });
    } catch {
      return false;
    }
    elapsed += length;
    session.begun = { elapsed };
    save();
    onSecond(elapsed);
  }
  return true;
}

/** Runs a command in a shell; keeps the end of what comes on both streams. A cancel kills its process group. */
export function runShell(
  command: string,
  cwd: string,
  onOutput: (text: string) => void,
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const take = (data: Buffer) => {
      output = (output + data.toString()).slice(-MAX_OUTPUT);
      onOutput(output);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const kill = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {
        // it has exited
      }
    };
    if (signal.aborted) kill();
    signal.addEventListener('abort', kill, { once: true });
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => {
      signal.removeEventListener('abort', kill);
      resolve({ code, output });
    });
  });
}
