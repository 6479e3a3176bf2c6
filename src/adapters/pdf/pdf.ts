import { Worker } from 'node:worker_threads';

const LONGEST_MS = 30_000;
const MEMORY_MB = 512;

/** A PDF by its first bytes, whatever its name claims; some writers put a little before them. */
export const isPdf = (data: Buffer): boolean => data.subarray(0, 1024).includes('%PDF-');

/**
 * The text of a PDF, pages one after the other; null when it has none (a scan), cannot be read, or takes too much time or memory.
 * In a thread of its own: a hostile file costs that thread, and holds nothing else up.
 */
export async function pdfText(data: Buffer, signal: AbortSignal, longestMs = LONGEST_MS): Promise<string | null> {
  const thread = new Worker(new URL('./pdf-thread.ts', import.meta.url), {
    workerData: new Uint8Array(data),
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    // it prints what it does not like about a file
    stdout: true,
    stderr: true,
  });
  const ended = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
  try {
    return await new Promise<string | null>((resolve) => {
      const give = (text: unknown) => resolve(typeof text === 'string' && text.trim() !== '' ? text : null);
      thread.once('message', give);
      thread.once('error', () => give(null));
      thread.once('exit', () => give(null));
      ended.addEventListener('abort', () => give(null), { once: true });
    });
  } finally {
    await thread.terminate();
    signal.throwIfAborted();
  }
}
