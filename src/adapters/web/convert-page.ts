import { Worker } from 'node:worker_threads';
import { CODE_EXTENSION } from '../../installation.ts';
import { FetchError } from './fetch-page.ts';
import { type ReadablePage, SelectorError } from './readable-page.ts';

/** Real pages take well under a second. */
const CONVERT_MS = 8_000;
const MEMORY_MB = 256;

/**
 * Converts a page in its own thread, which is ended at a deadline: a page may be made to take minutes, and this process must send heartbeats. @throws
 * SelectorError, FetchError
 */
export function convertPage(html: string, url: string, selector: string | undefined, signal: AbortSignal, limitMs = CONVERT_MS): Promise<ReadablePage> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(`./readable-thread${CODE_EXTENSION}`, import.meta.url), {
      workerData: { html, url, selector },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
      stdout: true,
      stderr: true,
    });
    const timer = setTimeout(() => end(new FetchError('This page is too complicated to be turned into text.')), limitMs);
    const abort = () => end(signal.reason as Error);
    const end = (error?: Error, page?: ReadablePage) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      void thread.terminate();
      if (page) resolve(page);
      else reject(error);
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    thread.once('message', (answer: { page?: ReadablePage; error?: string; selector?: boolean }) =>
      answer.page
        ? end(undefined, answer.page)
        : end(answer.selector ? new SelectorError(answer.error ?? '') : new FetchError(`This page could not be turned into text: ${answer.error}`)),
    );
    // reaching its memory limit ends a thread with an error too
    thread.once('error', (error: Error) => end(new FetchError(`This page could not be turned into text: ${error.message}`)));
  });
}
