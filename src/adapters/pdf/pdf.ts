import { type ChildProcess, execFile, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { serverEnvironment } from '../../config.ts';
import { CODE_EXTENSION } from '../../installation.ts';

const LONGEST_MS = 30_000;
const HEAP_MB = 512;
/** Including the runtime itself. A page of 19 KB was seen to ask for 3 GB, mostly in buffers outside the heap. */
const MEMORY_MB = 768;
/** How often memory is checked, so how long a process can exceed its limit. */
const LOOK_MS = 50;

/** A PDF by its first bytes, whatever its name says. Some writers put a few bytes before them. */
export const isPdf = (data: Buffer): boolean => data.subarray(0, 1024).includes('%PDF-');

export interface PdfLimits {
  longestMs?: number;
  memoryMb?: number;
}

/**
 * The text of a PDF, page after page. Null when it has none (a scan), cannot be read, or takes too much time or memory.
 * It runs in its own process, without our settings and keys: a thread's limit does not count the buffers that a hostile
 * file fills.
 */
export async function pdfText(
  data: Buffer,
  signal: AbortSignal,
  { longestMs = LONGEST_MS, memoryMb = MEMORY_MB }: PdfLimits = {},
): Promise<string | null> {
  signal.throwIfAborted();
  const child = fork(new URL(`./pdf-process${CODE_EXTENSION}`, import.meta.url), {
    serialization: 'advanced',
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    env: serverEnvironment({}),
    // it prints complaints about a file
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const over = new AbortController();
  try {
    const text = await new Promise<unknown>((resolve) => {
      child.once('message', resolve);
      child.once('error', () => resolve(null));
      child.once('exit', () => resolve(null));
      AbortSignal.any([signal, AbortSignal.timeout(longestMs)]).addEventListener('abort', () => resolve(null), {
        once: true,
      });
      void outgrown(child, memoryMb, over.signal).then(() => resolve(null));
      // it may die before it has read everything; its exit reports that
      child.send(new Uint8Array(data), () => {});
    });
    return typeof text === 'string' && text.trim() !== '' ? text : null;
  } finally {
    over.abort();
    child.kill('SIGKILL');
    signal.throwIfAborted();
  }
}

/** Resolves when the process uses more memory than allowed; never after `over` has aborted. */
async function outgrown(child: ChildProcess, memoryMb: number, over: AbortSignal): Promise<void> {
  while (!over.aborted && (await residentMb(child.pid!)) <= memoryMb) await pause(LOOK_MS);
}

/** Memory in use by a process; 0 when it is gone. */
async function residentMb(pid: number): Promise<number> {
  try {
    if (process.platform === 'linux')
      return Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
    if (process.platform === 'win32') return 0;
    return Number((await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])).stdout) / 1024;
  } catch {
    return 0;
  }
}
